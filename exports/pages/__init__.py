"""The web pages of exports and preference pairs."""
