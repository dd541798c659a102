"""Shared code of the pages of all apps: forms, lists and sentences."""
