"""Django's PostgreSQL backend with a pool that notices when the database goes away, and when it is back."""
