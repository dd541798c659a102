"""Read trainers' requests and write their answers (docs/reward-endpoints.md). Each protocol has a module.

read(body)             the samples of a parsed body; raises Invalid with a pointer
write(outcomes)        the answer, from one outcome for each sample in order

No protocol accepts pickle, which some trainers use: it would run their code here.
"""

import json
from types import ModuleType
from typing import Final

from autotune.core import strictjson
from autotune.core.api import parsing
from autotune.core.strictjson import JSONRefused
from scores.live.protocols import foundry, openrlhf, slime, verify
from scores.live.protocols.samples import SampleOutcome, TrainerSample, is_plain
from scores.states import RewardProtocol

__all__ = ["SampleOutcome", "TrainerSample", "read", "write"]
MAX_DEPTH: Final = 64  # a rollout with calls of tools nests deeper than metadata may
MODULES: Final[dict[str, ModuleType]] = {
    RewardProtocol.OPENRLHF: openrlhf,
    RewardProtocol.SLIME: slime,
    RewardProtocol.VERIFY: verify,
    RewardProtocol.FOUNDRY: foundry,
}


def read(protocol: str, raw: bytes) -> list[TrainerSample]:
    """Read the samples of a request body.

    A trainer cannot change how it writes the numbers of its data set. So graders get every digit: an integer beyond
    2^53 - 1, or a number beyond a double, becomes the text of its digits.

    A model may emit NUL, and a broken tokenizer half of a surrogate pair. The trainer cannot help it, so the sample is
    refused (`invalid_text`) and not the call.
    raises  Invalid with a pointer
    """
    try:
        body = strictjson.loads(raw, max_depth=MAX_DEPTH, large_as_text=True, any_text=True)
    except JSONRefused as exc:
        raise parsing.refusal(exc) from exc
    samples = MODULES[protocol].read(body)
    for sample in samples:
        if not is_plain([sample.prompt, sample.messages, sample.response, sample.metadata]):
            sample.refused = "invalid_text"
    return samples


def write(protocol: str, raw: bytes, outcomes: list[SampleOutcome], *, reward_key: str | None = None) -> bytes:
    """Return the answer as JSON.

    raw     the request body, which one of the protocols repeats
    raises  ValueError for a number that is not finite, which no outcome has
    """
    if protocol == RewardProtocol.VERIFY:
        return verify.write(raw, outcomes)
    more = {"reward_key": reward_key} if protocol == RewardProtocol.SLIME else {}
    answer = MODULES[protocol].write(outcomes, **more)
    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii")
