"""Django's PostgreSQL backend with a pool that notices the start and the end of a database outage."""
