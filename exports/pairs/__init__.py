"""Preference pairs: two responses to one prompt, of which one has the greater reward."""
