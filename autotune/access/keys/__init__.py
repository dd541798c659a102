"""API keys: their form, their bounds, and how they are created, changed and rotated."""
