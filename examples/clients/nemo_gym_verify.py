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


def body(one: Sample) -> dict[str, Any]:
    """As a rollout collector sends it."""
    said = [{"type": "output_text", "text": one.response, "annotations": []}]
    message = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": said}
    fields = {} if one.reference is None else {"expected_answer": one.reference}
    return {
        "responses_create_params": {"input": [{"role": "user", "content": one.prompt}]},
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

        return await asyncio.gather(*(ask(body(one)) for one in SAMPLES))


def main() -> None:
    found = asyncio.run(answers(address("verify")))
    ran(f"{NAME}, /verify", [one["reward"] for one in found], expected(NEUTRAL))
    ran(f"{NAME}, {FAILURE}", [float(FAILURE in one) for one in found], [0.0, 0.0, 1.0])


if __name__ == "__main__":
    main()
