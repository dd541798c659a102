"""Pages of workflow runs."""
