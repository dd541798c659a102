"""A browser that is started once the test has made its rows: from then on the database is asked in threads aside."""
