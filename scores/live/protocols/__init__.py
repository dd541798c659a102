"""What trainers send and read (docs/reward-endpoints.md), each protocol in a module of two pure functions.

read(body)             the samples of a parsed body; raises Invalid with a pointer
write(body, outcomes)  what is answered, one outcome for each sample in its order

None of them takes pickle, which some trainers speak: it would run their code here.
"""

import json
from types import ModuleType
from typing import Any, Final

from autotune.core import parsing, strictjson
from autotune.core.strictjson import JSONRefused
from scores.live.protocols import foundry, openrlhf, slime, verify
from scores.live.protocols.samples import Outcome, Sample, is_plain
from scores.states import Protocol

__all__ = ["Outcome", "Sample", "parsed", "read", "write"]
MAX_DEPTH: Final = 64  # a rollout with calls of tools nests deeper than metadata may
MODULES: Final[dict[str, ModuleType]] = {
    Protocol.OPENRLHF: openrlhf,
    Protocol.SLIME: slime,
    Protocol.VERIFY: verify,
    Protocol.FOUNDRY: foundry,
}


def read(protocol: str, raw: bytes) -> tuple[Any, list[Sample]]:
    """The parsed body and its samples.

    A model may emit NUL, and a broken tokenizer half of a surrogate pair. The trainer cannot help it, so the sample is
    refused (`invalid_text`) and not the call.
    raises  Invalid with a pointer
    """
    try:
        body = parsed(raw)
    except JSONRefused as exc:
        raise parsing.refusal(exc) from exc
    samples = MODULES[protocol].read(body)
    for sample in samples:
        if not is_plain([sample.prompt, sample.messages, sample.response, sample.metadata]):
            sample.refused = "invalid_text"
    return body, samples


def write(protocol: str, body: Any, outcomes: list[Outcome], *, reward_key: str | None = None) -> bytes:
    """The answer as JSON. Only ASCII: it may repeat text that no UTF-8 can hold.

    raises  ValueError for a number that is not finite, which no outcome has
    """
    more = {"reward_key": reward_key} if protocol == Protocol.SLIME else {}
    answer = MODULES[protocol].write(body, outcomes, **more)
    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii")


def parsed(raw: bytes) -> Any:
    """raises  JSONRefused for all that is not strict JSON, but for text that cannot be stored"""
    try:
        return strictjson.loads(raw, max_depth=MAX_DEPTH)
    except JSONRefused as exc:
        if exc.code != "invalid_text":
            raise
    body = json.loads(raw)
    strictjson.check_free(body, "", max_depth=MAX_DEPTH, safe_integers=False)
    return body
