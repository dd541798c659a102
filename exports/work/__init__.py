"""Export jobs: their creation, their work part by part under a lease, and the ways in which they end."""
