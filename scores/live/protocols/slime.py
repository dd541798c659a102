"""slime's remote reward model (`--rm-type remote_rm --rm-url`): one sample a call, and the answer is the reward.

With `--reward-key score` slime reads that member of an object instead; the endpoint's address then ends in
`?rewardKey=score`.
"""

from typing import Any

from scores.live.protocols.conversations import UnmappedConversation, mapped
from scores.live.protocols.samples import SampleOutcome, TrainerSample, the_messages, the_object, the_text


def read(body: Any) -> list[TrainerSample]:
    """Return the sample of a request; raises Invalid with a pointer."""
    members = the_object(body)
    label = members.get("label")
    sample = TrainerSample(the_text(members, "response"), metadata=None if label is None else {"label": label})
    if isinstance(members.get("prompt"), list):
        try:
            sample.messages = mapped(the_messages(members["prompt"], "/prompt"))
        except UnmappedConversation as exc:
            sample.refused, sample.reason = exc.code, exc.reason
    else:
        sample.prompt = the_text(members, "prompt")
    return [sample]


def write(outcomes: list[SampleOutcome], *, reward_key: str | None = None) -> float | dict[str, Any]:
    (outcome,) = outcomes
    if reward_key is None:
        return outcome.value
    return {"state": outcome.code or "scored", reward_key: outcome.value}
