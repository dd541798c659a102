"""Roles: the built-in ones, and an organization's own."""
