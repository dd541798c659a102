"""Pages of graders: the board, the marketplace, a grader's figures, health and settings, and the console to try it."""
