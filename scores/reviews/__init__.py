"""Reviews: workflow runs that wait for a person's decision."""
