"""Export jobs: asked for, run part by part under a lease, and ended in one of several ways."""
