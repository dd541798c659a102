"""Pages that make and change tasks, and tell their versions. What shows scores is in `scores.pages`."""
