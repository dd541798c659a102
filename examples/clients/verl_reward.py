"""veRL's own loading of a custom reward function and its own reward managers, with the adapter of the SDK.

`load_reward_manager` reads the configuration as a trainer does; `run_single` is what the reward loop awaits for each
sample. The tokenizer is a stand-in.
"""

import asyncio
from typing import Any

import numpy as np
import torch
import verl
from autotune_sdk.integrations.verl import PROMPTS
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto
from verl.trainer.ppo.reward import load_reward_manager

from examples.clients.samples import NEUTRAL, SAMPLES, expected, ran

NAME = f"verl {verl.__version__}"
WIDTH = 64


class Tokenizer:
    """One token per character."""

    def decode(self, tokens: torch.Tensor, **_: Any) -> str:
        return "".join(chr(int(token)) for token in tokens)


def config(manager: str, function: str) -> Any:
    """As the trainer's configuration has it."""
    return OmegaConf.create(
        {
            "reward": {
                "custom_reward_function": {
                    "path": "pkg://autotune_sdk.integrations.verl",
                    "name": function,
                    "reward_kwargs": {"missing": NEUTRAL, "deadline_s": 60},
                },
                "reward_manager": {"source": "register", "name": manager},
            }
        }
    )


def batch() -> DataProto:
    """The samples as a rollout hands them over."""
    responses, masks = (
        torch.zeros(len(SAMPLES), WIDTH, dtype=torch.long),
        torch.zeros(len(SAMPLES), WIDTH + 1, dtype=torch.long),
    )
    masks[:, 0] = 1
    for at, sample in enumerate(SAMPLES):
        responses[at, : len(sample.response)] = torch.tensor([ord(char) for char in sample.response])
        masks[at, 1 : 1 + len(sample.response)] = 1
    tensors = TensorDict(
        {"responses": responses, "attention_mask": masks, "prompts": torch.zeros(len(SAMPLES), 1, dtype=torch.long)},
        batch_size=len(SAMPLES),
    )
    columns = {
        "data_source": ["sums"] * len(SAMPLES),
        "reward_model": [{"style": "model", "ground_truth": sample.reference} for sample in SAMPLES],
        "extra_info": [{PROMPTS[0]: sample.prompt, "index": at} for at, sample in enumerate(SAMPLES)],
    }
    return DataProto(tensors, {name: _objects(values) for name, values in columns.items()})


def _objects(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


async def scored(manager: str, function: str) -> list[dict[str, Any]]:
    """Every sample through the manager, at once."""
    reward_manager = load_reward_manager(config(manager, function), Tokenizer())
    data = batch()
    return await asyncio.gather(*(reward_manager.run_single(data[at : at + 1]) for at in range(len(data))))


async def main() -> None:
    """In one event loop, since the managers keep their limits in it."""
    for manager in ("naive", "rate_limited"):
        for function in ("compute_score", "compute_score_async"):
            results = await scored(manager, function)
            scores = [result["reward_score"] for result in results]
            ran(f"{NAME} load_reward_manager + {manager}.run_single with {function}", scores, expected(NEUTRAL))
            extras = [result["reward_extra_info"] for result in results]
            ran(f"{NAME} reward_extra_info", [extra["autotune_scored"] for extra in extras], [1.0, 1.0, 0.0])
            ran(f"{NAME} same members", [float(extra.keys() == extras[0].keys()) for extra in extras], [1.0] * 3)


if __name__ == "__main__":
    asyncio.run(main())
