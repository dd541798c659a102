"""Preference pairs: two responses to one prompt, one of which has the greater reward."""
