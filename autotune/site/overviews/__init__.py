"""The overview page: what needs attention now, charts over time, and the first steps."""
