"""Throttling: how often a caller may send requests."""
