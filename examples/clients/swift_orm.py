"""ms-swift's own call of reward plug-ins in GRPO, with the plug-ins of the SDK.

`compute_rewards_per_func` is what its trainers run on a batch; `--reward_funcs` looks plug-ins up in `orms`.
"""

from importlib.metadata import version

import torch
from autotune_sdk.integrations.swift import AutotuneAsyncORM, AutotuneORM
from swift.rewards import ORM, AsyncORM, orms
from swift.rl_core.data import GRPOSample
from swift.rl_core.grpo_algorithm import compute_rewards_per_func

from examples.clients.samples import NEUTRAL, SAMPLES, expected, ran

NAME = f"ms-swift {version('ms-swift')}"


def main() -> None:
    assert issubclass(AutotuneORM, ORM)
    assert issubclass(AutotuneAsyncORM, AsyncORM)
    orms["autotune"], orms["autotune_async"] = AutotuneORM, AutotuneAsyncORM
    rows = [
        {
            "messages": [{"role": "user", "content": sample.prompt}, {"role": "assistant", "content": sample.response}],
            "solution": sample.reference,
        }
        for sample in SAMPLES
    ]
    functions = [orms[name](args=None) for name in ("autotune", "autotune_async")]
    samples = [GRPOSample.from_row(row) for row in rows]
    rewards = compute_rewards_per_func(samples, functions, [None, None], torch.device("cpu"))
    for at, name in enumerate(("AutotuneORM", "AutotuneAsyncORM")):
        ran(f"{NAME} compute_rewards_per_func with {name}", rewards[:, at].tolist(), expected(NEUTRAL))


if __name__ == "__main__":
    main()
