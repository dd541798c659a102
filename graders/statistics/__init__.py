"""Statistics of graders: counters beside each saved group of results, and reports over a period."""
