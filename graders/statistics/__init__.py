"""Statistics of graders: counters written with each saved group of results, and reports over a period."""
