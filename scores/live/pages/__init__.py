"""Pages of reward endpoints."""
