"""The grader and the drain of the scoring tests."""

from tests.scores.conftest import drain, fake, grader, task

__all__ = ["drain", "fake", "grader", "task"]
