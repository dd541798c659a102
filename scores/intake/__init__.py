"""Intake: check submitted completions, store them, and queue them for their graders."""
