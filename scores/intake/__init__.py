"""Intake: completions that are submitted, checked, stored, and queued for their graders."""
