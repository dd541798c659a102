"""Frozen dataclasses of the API's responses, a module for each kind of object."""
