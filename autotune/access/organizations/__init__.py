"""Organizations: their API, and how they are created, changed and suspended."""
