"""The request that slime sends with `--rm-type remote_rm --rm-url`, against a reward endpoint.

slime is in no package registry; this is a client of our own that sends and reads what its `remote_rm`
(`slime/rollout/rm_hub/__init__.py`, read at commit 0b420f1) sends and reads: the prompt as text or messages, the answer
by a JSON reader that also checks the content type.
"""

import asyncio
from typing import Any

import aiohttp

from examples.clients.samples import NEUTRAL, SAMPLES, address, expected, ran

NAME = "slime 0b420f1, its request"
TIMEOUT = aiohttp.ClientTimeout(total=120)


async def answers(url: str, *, chat: bool) -> list[Any]:
    """What is answered to each sample, all asked at once."""
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:

        async def ask(prompt: str, response: str, label: str | None) -> Any:
            sent_prompt = [{"role": "user", "content": prompt}] if chat else prompt
            async with session.post(url, json={"prompt": sent_prompt, "response": response, "label": label}) as reply:
                reply.raise_for_status()
                return await reply.json()

        return await asyncio.gather(*(ask(sample.prompt, sample.response, sample.reference) for sample in SAMPLES))


def main() -> None:
    url = address("slime")
    ran(f"{NAME}, a text prompt", asyncio.run(answers(url, chat=False)), expected(NEUTRAL))
    ran(f"{NAME}, messages", asyncio.run(answers(url, chat=True)), expected(NEUTRAL))
    keyed = asyncio.run(answers(f"{url}?rewardKey=score", chat=False))
    ran(f"{NAME}, --reward-key score", [reply["score"] for reply in keyed], expected(NEUTRAL))


if __name__ == "__main__":
    main()
