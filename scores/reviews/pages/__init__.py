"""Pages of reviews."""
