"""Feedback: what people say is the true score of a completion for a grader."""
