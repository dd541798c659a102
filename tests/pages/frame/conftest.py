"""A browser for each test, closed with it: teardown must find Django's own connection."""
