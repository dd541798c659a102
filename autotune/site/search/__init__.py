"""Search by id and by name."""
