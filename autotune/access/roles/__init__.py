"""Roles: those that come with the product, and an organization's own."""
