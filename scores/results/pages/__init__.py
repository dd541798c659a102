"""Pages of completions and scores, and of a task with its figures."""
