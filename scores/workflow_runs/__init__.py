"""Workflow runs: the durable executions that each take one completion to one grader's score."""
