"""OpenRLHF's own client of remote rewards against a reward endpoint, and its own reading of a reward file.

`SingleTurnAgentExecutor.execute` is what each rollout runs: generate, decode, ask for the reward. Only the engine and
the tokenizer are stand-ins here; they are not what is tried. Then its samples generator makes tensors of the result.
"""

import asyncio
import sys
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import torch
from autotune_sdk.integrations import openrlhf as reward_file

from examples.clients.samples import NEUTRAL, SAMPLES, address, expected, ran

NAME = f"openrlhf {version('openrlhf')}"
SAMPLING = SimpleNamespace(max_tokens=64, logprobs=None)


class Tokenizer:
    """One token per character, and an ending."""

    def __call__(self, text: str, **_: Any) -> dict[str, torch.Tensor]:
        return {"input_ids": torch.tensor([[ord(char) for char in text]])}

    def decode(self, tokens: list[int], **_: Any) -> str:
        return "".join(map(chr, tokens)) + "</s>"


class Engine:
    """Answers with a sample's response."""

    def __init__(self, response: str) -> None:
        self.response = response

    async def generate(self, tokens: list[int], params: Any, **_: Any) -> Any:
        output = SimpleNamespace(token_ids=[ord(c) for c in self.response], finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


async def rollouts(where: str) -> list[dict[str, Any]]:
    """All samples at once, as the trainer has them."""
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    executor = SingleTurnAgentExecutor(where)
    return await asyncio.gather(
        *(
            executor.execute(
                sample.prompt + " ", sample.reference, SAMPLING, 4096, Tokenizer(), Engine(sample.response)
            )
            for sample in SAMPLES
        )
    )


def experiences(responses: list[dict[str, Any]]) -> list[Any]:
    """What the samples generator makes of them; the engine that it imports needs a GPU, and is not called."""
    for name in ("vllm", "openrlhf.trainer.ray.vllm_engine"):
        sys.modules.setdefault(name, MagicMock())
    from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

    generator = SamplesGenerator.__new__(SamplesGenerator)
    return [generator._process_response_into_experience(response, max_len=4096) for response in responses]


def main() -> None:
    for where, what in (
        (address("openrlhf"), "SingleTurnAgentExecutor.execute with a URL (_fetch_rewards_via_http)"),
        (reward_file.__file__, "SingleTurnAgentExecutor.execute with a reward file (_fetch_rewards_via_func)"),
    ):
        responses = asyncio.run(rollouts(where))
        ran(f"{NAME} {what}", [float(response["reward"][0]) for response in responses], expected(NEUTRAL))
        unscored = [float(response["extra_logs"]["autotune_unscored"][0]) for response in responses]
        ran(f"{NAME} extra_logs.autotune_unscored", unscored, [0.0, 0.0, 1.0])
        batches = experiences(responses)
        scores = [float(batch.scores[0].flatten()[0]) for batch in batches]
        ran(f"{NAME} SamplesGenerator._process_response_into_experience", scores, expected(NEUTRAL))


if __name__ == "__main__":
    main()
