"""The `/verify` request of NeMo Gym, against a reward endpoint.

The package needs a newer Python than this environment has, so this is a client of our own that sends what its resources
servers are sent (`nemo_gym/base_resources_server.py`, read in nemo-gym 0.4.0): the Responses shapes, with task fields
beside them. The whole body must come back with `reward`.
"""

import asyncio
from typing import Any

import aiohttp

from examples.clients.samples import NEUTRAL, SAMPLES, Sample, address, expected, ran

NAME = "nemo-gym 0.4.0, its request"
FAILURE = "_ng_failure_class"


def body(sample: Sample) -> dict[str, Any]:
    """As a rollout collector sends it."""
    parts = [{"type": "output_text", "text": sample.response, "annotations": []}]
    message = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": parts}
    fields = {} if sample.reference is None else {"expected_answer": sample.reference}
    return {
        "responses_create_params": {"input": [{"role": "user", "content": sample.prompt}]},
        "response": {
            "id": "r1",
            "created_at": 1.0,
            "model": "m",
            "object": "response",
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "output": [message],
        },
        **fields,
    }


async def answers(url: str) -> list[dict[str, Any]]:
    async with aiohttp.ClientSession() as session:

        async def ask(sent: dict[str, Any]) -> dict[str, Any]:
            async with session.post(url, json=sent) as reply:
                reply.raise_for_status()
                got = await reply.json()
                assert {name: got[name] for name in sent} == sent
                return got

        return await asyncio.gather(*(ask(body(sample)) for sample in SAMPLES))


def main() -> None:
    replies = asyncio.run(answers(address("verify")))
    ran(f"{NAME}, /verify", [reply["reward"] for reply in replies], expected(NEUTRAL))
    ran(f"{NAME}, {FAILURE}", [float(FAILURE in reply) for reply in replies], [0.0, 0.0, 1.0])


if __name__ == "__main__":
    main()
