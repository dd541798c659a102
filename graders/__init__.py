"""Graders: their registration, secrets, calls, health and statistics."""
