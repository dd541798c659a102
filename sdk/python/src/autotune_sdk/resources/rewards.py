"""Request live rewards, manage the endpoints that trainers call for them, and sample preference pairs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from .. import _rewarding, _wire
from ..models.pages import Page
from ..models.rewards import (
    LiveReward,
    PreferencePair,
    PreferencePairs,
    RewardEndpoint,
    RewardEndpointRegistration,
)
from ._base import Resource, member, segment, wire_members

ITEM = ("prompt", "messages", "response", "metadata")


class Rewards(Resource):
    """`client.rewards`."""

    def __call__(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        task_id: str,
        model_id: str | None = None,
        deadline_s: float = 60.0,
        fresh: bool = False,
    ) -> list[LiveReward]:
        """Score answers and wait for the rewards; return them in the order of the items.

        items       mappings with `prompt` or `messages`, `response` and perhaps `metadata`; any number
        deadline_s  it returns after this many seconds, whatever the server does; what is not scored by then has the
                    status 'pending', goes on, and is found by the same call later
        fresh       score again what was scored before: by default equal work is scored once and reused
        raises      InvalidRequest, whose errors have the `index` of the item; ConnectionFailed, ServerError,
                    RateLimited or ConflictError (`conflict`) if there was no other response in all that time
        """
        until = time.monotonic() + deadline_s
        parts = [_wire.dumps(_item(item)) for item in items]
        head = wire_members({"task_id": task_id, "model_id": model_id})
        return _rewarding.answers(self._transport, parts, _rewarding.Question(head, fresh, until))


class EndpointChanges(TypedDict, total=False):
    """The parameters of `update`."""

    model_id: str
    unscored: str
    neutral_value: float | None
    deadline_ms: int | None
    enabled: bool
    without_text: str


class RewardEndpoints(Resource):
    """`client.reward_endpoints`."""

    def create(
        self,
        *,
        task_id: str,
        protocol: str,
        unscored: str,
        neutral_value: float | None = None,
        deadline_ms: int | None = None,
        model_id: str | None = None,
        without_text: str | None = None,
        idempotency_key: str | None = None,
    ) -> RewardEndpointRegistration:
        """Create an address for a trainer that uses the protocol 'openrlhf', 'slime', 'verify' or 'foundry'.

        without_text  how to treat an answer without text, such as one that only calls tools: 'unscored' (default),
                      'empty' (scored as an empty text) or 'strict' (unscored, also an answer of only spaces)
        The token in the `url` of the response is shown once: anyone who has the address can have answers scored.
        """
        body = wire_members(
            {
                "task_id": task_id,
                "protocol": protocol,
                "unscored": unscored,
                "neutral_value": neutral_value,
                "deadline_ms": deadline_ms,
                "model_id": model_id,
                "without_text": without_text,
            }
        )
        return _registration(
            self._transport.post("/reward-endpoints", _wire.dumps(body), idempotency_key=idempotency_key)
        )

    def list(
        self,
        *,
        task_id: str | None = None,
        protocol: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[RewardEndpoint]:
        """Return one page of reward endpoints."""
        parameters = {"task_id": task_id, "protocol": protocol, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page("/reward-endpoints", "rewardEndpoints", RewardEndpoint, parameters)

    def get(self, endpoint_id: str) -> RewardEndpoint:
        """Return one reward endpoint, with the number of samples it has answered."""
        return _endpoint(self._transport.get(f"/reward-endpoints/{segment(endpoint_id)}"))

    def update(self, endpoint_id: str, **changes: Unpack[EndpointChanges]) -> RewardEndpoint:
        """Change the given members. `enabled=False` turns it off."""
        body = {_wire.camel(name): value for name, value in changes.items()}
        return _endpoint(self._transport.patch(f"/reward-endpoints/{segment(endpoint_id)}", _wire.dumps(body)))

    def rotate(self, endpoint_id: str, *, idempotency_key: str | None = None) -> RewardEndpointRegistration:
        """Create a new token, in the `url` of the response; the old one stops working at once."""
        path = f"/reward-endpoints/{segment(endpoint_id)}/rotate"
        return _registration(self._transport.post(path, b"{}", idempotency_key=idempotency_key))

    def delete(self, endpoint_id: str) -> None:
        """Delete a reward endpoint: its address returns 404 from now on."""
        self._transport.delete(f"/reward-endpoints/{segment(endpoint_id)}")


class Preferences(Resource):
    """`client.preference_pairs`."""

    def __call__(
        self,
        *,
        task_id: str,
        sample_size: int,
        min_score_delta: float = 0.0,
        model_id: str | None = None,
        strategy: str | None = None,
        cap_per_prompt: int | None = None,
        seed: int | None = None,
        conversational: bool | None = None,
        source: str | Sequence[str] | None = None,
    ) -> PreferencePairs:
        """Return pairs of responses to the same prompt, the better one first; the same seed returns the same pairs.

        strategy        'best_worst' (one pair of each prompt), 'all' or 'random'
        conversational  also use conversations of several messages; each text is then a list of {'role', 'content'}
        source          one or more of 'api', 'manual', 'telemetry', 'evaluation'; default: 'api' and 'manual'
        For files of any size see `client.scores.export` and `client.exports` with layout='preferences'.
        """
        body = wire_members(
            {
                "task_id": task_id,
                "sample_size": sample_size,
                "min_score_delta": min_score_delta,
                "model_id": model_id,
                "strategy": strategy,
                "cap_per_prompt": cap_per_prompt,
                "seed": seed,
                "conversational": conversational,
                "source": [source] if isinstance(source, str) else source,
            }
        )
        answer = self._transport.post("/preference-pairs", _wire.dumps(body), safe=True)
        pairs = tuple(_wire.decode(PreferencePair, pair) for pair in member(answer, "pairs"))
        reasons = answer.get("leftOutByReason") or {}
        return PreferencePairs(pairs, answer.get("available"), answer.get("leftOut"), reasons)


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Convert one item to the API's form. Raises TypeError for an unknown name."""
    for name in item:
        if name not in ITEM:
            raise TypeError(f"an item has no {name!r}; use one of {', '.join(ITEM)}")
    return {name: value for name, value in item.items() if value is not None}


def _endpoint(answer: Any) -> RewardEndpoint:
    return _wire.decode(RewardEndpoint, member(answer, "rewardEndpoint"))


def _registration(answer: Any) -> RewardEndpointRegistration:
    return RewardEndpointRegistration(_endpoint(answer), member(answer, "url"))
