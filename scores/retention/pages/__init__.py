"""Pages of retention, legal holds and erasures."""
