"""A browser that starts after the test has created its rows: from then on queries run in other threads."""
