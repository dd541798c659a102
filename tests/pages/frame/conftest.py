"""A browser of each test's own, gone when the test is: what comes back after a test must find Django's own connection."""
