"""Counters of scores, rewards and completions: triggers fill them, a job folds them (docs/scoring.md)."""
