"""Pages of completions, scores, runs, reviews, retention and live rewards; and of a task, which shows its scores."""
