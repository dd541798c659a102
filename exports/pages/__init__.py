"""Pages of exports and preference pairs."""
