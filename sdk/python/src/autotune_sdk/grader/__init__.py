"""The grader kit: you write a scoring function, and it handles the Autotune grader protocol, version 1.

    from autotune_sdk.grader import CannotJudge, Completion, Grader, Score

    grader = Grader("exact-match", "1.0.0")

    @grader.score
    def score(completion: Completion) -> float:
        if "answer" not in completion.metadata:
            raise CannotJudge("no reference answer")
        return float(completion.response.strip() == completion.metadata["answer"])

    python -m autotune_sdk.grader my_module:grader --port 9100 --secret-file grader.secret

The kit verifies every request and signs every answer; the secret comes from AUTOTUNE_GRADER_SECRET or a file.
"""

from .kit import Grader
from .later import CallbackExpired, CallbackRefused, Work
from .protocol import Refused, sign, sign_request
from .results import CannotJudge, Completion, Dimension, Graded, InvalidScore, Options, Score
from .secrets import Secrets

__all__ = [
    "CallbackExpired",
    "CallbackRefused",
    "CannotJudge",
    "Completion",
    "Dimension",
    "Graded",
    "Grader",
    "InvalidScore",
    "Options",
    "Refused",
    "Score",
    "Secrets",
    "Work",
    "sign",
    "sign_request",
]
