"""API keys: their format, their bounds, and how they are created, changed and rotated."""
