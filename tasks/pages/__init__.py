"""Pages that create and change tasks and show their versions. Pages with scores are in `scores.pages`."""
