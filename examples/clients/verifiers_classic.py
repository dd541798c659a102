"""The Rubric of verifiers' older releases, with the SDK's function.

`Rubric.score_rollout` is what their environments run on each rollout.
"""

import asyncio
from contextlib import nullcontext
from importlib.metadata import version
from typing import Any

import verifiers as vf
from autotune_sdk.integrations.verifiers import rubric_func

from examples.clients.samples import NEUTRAL, SAMPLES, expected, ran

NAME = f"verifiers {version('verifiers')}"


class Free(nullcontext):
    """No limit to calls at once."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


async def scored() -> list[dict[str, Any]]:
    """The states of the samples' rollouts after scoring."""
    rubric = vf.Rubric(funcs=[rubric_func(missing=NEUTRAL)], weights=[1.0])
    states = [
        {
            "prompt": [{"role": "user", "content": sample.prompt}],
            "completion": [{"role": "assistant", "content": sample.response}],
            "answer": sample.reference or "",
            "task": "sums",
            "timing": {"scoring_ms": 0.0, "total_ms": 0.0},
        }
        for sample in SAMPLES
    ]
    await asyncio.gather(*(rubric.score_rollout(state, Free()) for state in states))
    return states


def main() -> None:
    states = asyncio.run(scored())
    ran(f"{NAME} Rubric.score_rollout with rubric_func", [state["reward"] for state in states], expected(NEUTRAL))
    ran(f"{NAME} metrics", [state["metrics"]["autotune"] for state in states], expected(NEUTRAL))


if __name__ == "__main__":
    main()
