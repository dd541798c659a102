"""verifiers' own scoring of traces, with the SDK's reward plugged in by configuration.

`Task.score` is what an environment runs on each rollout; `fn` in the configuration names the function.
"""

import asyncio
from typing import Any

import verifiers
import verifiers.v1 as vf
from verifiers.v1.configs.task import TaskConfig
from verifiers.v1.errors import TaskError
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import AgentInfo, Trace, TraceTask
from verifiers.v1.types import AssistantMessage, UserMessage

from examples.clients.samples import SAMPLES, Sample, ran

NAME = f"verifiers {verifiers.__version__}"


class Question(vf.TaskData):
    """A task with its reference answer."""

    answer: str | None = None


class Sum(vf.Task[Question]):
    """A task whose only reward is plugged in."""


CONFIG = TaskConfig.model_validate({"rewards": {"autotune": {"fn": "autotune_sdk.integrations.verifiers:reward"}}})


async def scored(sample: Sample) -> float | None:
    """The reward that the trace has in the end; None where scoring failed."""
    task = Sum(Question(prompt=sample.prompt, answer=sample.reference), CONFIG)
    trace = Trace(
        task=TraceTask(type="Sum", data=task.data, key=task.key, hash=task.hash),
        agent=AgentInfo(config=vf.AgentConfig()),
        nodes=[
            MessageNode(message=UserMessage(content=sample.prompt)),
            MessageNode(message=AssistantMessage(content=sample.response), parent=0, sampled=True),
        ],
    )
    try:
        await task.score(trace)
    except TaskError:
        assert trace.rewards == {"autotune": None}
        return None
    return trace.reward


async def all_of(samples: tuple[Sample, ...]) -> list[Any]:
    return await asyncio.gather(*(scored(sample) for sample in samples))


def main() -> None:
    rewards = asyncio.run(all_of(SAMPLES))
    ran(f"{NAME} Task.score with rewards.autotune.fn", rewards, [sample.reward for sample in SAMPLES])


if __name__ == "__main__":
    main()
