"""Counters of scores, rewards and completions: kept by triggers, folded by a job, read by figures (docs/scoring.md)."""
