"""Shared code of the pages of all apps: forms, lists, sentences, and values as text and as HTML."""
