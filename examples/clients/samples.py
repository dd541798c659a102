"""What every script sends: a right answer, a wrong one, and one that cannot be judged, with what must come back."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

NEUTRAL = 0.25  # replaces a missing score where a framework needs a number


@dataclass(frozen=True)
class Sample:
    """reference: None has the grader refuse. reward: None for no score."""

    prompt: str
    response: str
    reference: str | None
    reward: float | None


SAMPLES = (
    Sample("What is 2+2?", "The answer is 4", "4", 1.0),
    Sample("What is 3+5?", "The answer is 9", "8", 0.0),
    Sample("What is the best number?", "The answer is 7", None, None),
)


def expected(neutral: float | None) -> list[float | None]:
    """The rewards, with `neutral` for no score."""
    return [neutral if sample.reward is None else sample.reward for sample in SAMPLES]


def ran(what: str, rewards: Sequence[float | None], expected_rewards: Sequence[float | None]) -> None:
    """Print which function of which version ran, and what it gave; ends the script if that is wrong."""
    if list(rewards) != list(expected_rewards):
        print(f"{what}: {list(rewards)}, and not {list(expected_rewards)}", file=sys.stderr)
        sys.exit(1)
    print(f"{what}: {list(rewards)}")


def address(protocol: str) -> str:
    """Of the reward endpoint for a protocol, as run.py made it."""
    return os.environ[f"REWARD_URL_{protocol.upper()}"]
