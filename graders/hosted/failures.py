"""The failures of judging in a child process."""

from typing import Final

from graders.verdicts import Failure

TWICE: Final = 2  # attempts in all: a machine that was busy may be the cause
MAX_MESSAGE: Final = 300  # characters of a judge's exception

OUT_OF_MEMORY: Final = Failure(
    "judge_out_of_memory", "Judging the completion needs more memory than a judging process may use."
)
DIED: Final = Failure(
    "judge_died", "The process that judged the completion ended before it had a result.", retryable=True, limit=TWICE
)
VERSION_GONE: Final = Failure("version_gone", "The grader version that the run names no longer exists.", trips=False)


def timeout(limit_s: float) -> Failure:
    """The failure of an item that took longer than `limit_s` seconds."""
    return Failure(
        "timeout", f"The grader did not judge the completion within {limit_s:g} s.", retryable=True, limit=TWICE
    )


def broken(message: str) -> Failure:
    """The failure of a judge that raised an exception, or returned something else than a verdict."""
    return Failure("judge_failed", f"The grader could not judge the completion: {message[:MAX_MESSAGE]}", trips=False)
