"""Score one sample from the page of a reward endpoint, and show the answer that its trainer would get."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.core.errors import AutotuneError, Conflict
from scores.live import answering, endpoints, protocols, unscored
from scores.live.facade import CLOSED
from scores.live.requests import RewardItem
from scores.live.unscored import SampleState
from scores.models import RewardEndpoint
from scores.results.waiting import hub
from scores.states import RewardProtocol

WAIT_S: Final = 20.0  # a person waits less patiently than a trainer


@dataclass(frozen=True, slots=True)
class EndpointTry:
    """The request that a trainer would send, and the answer that it would get.

    sent, answered  JSON to read
    code            why there is no score; '' for one
    early           whether the page stopped waiting before the endpoint's deadline
    """

    sent: str
    status: int
    answered: str
    seconds: float
    code: str = ""
    early: bool = False
    completion_id: UUID | None = None

    @property
    def good(self) -> bool:
        return self.status == 200 and not self.code


def once(principal: Principal, endpoint: RewardEndpoint, *, prompt: str, response: str, label: str = "") -> EndpointTry:
    """Score a response for the caller, and write the answer by the endpoint's protocol and policy.

    It opens its own transactions, and waits. The endpoint's counts do not change.
    raises  Forbidden if the caller may not request rewards, or the endpoint would reject the call; NotFound for the
            task; Invalid for a text that is rejected, with pointers `/0/prompt` and `/0/response`
    """
    policy.require(principal, "rewards", "create")
    endpoints.principal_of(endpoint)
    start = time.monotonic()
    raw = json.dumps(_BODIES[endpoint.protocol](prompt, response, label)).encode()
    (sample,) = protocols.read(endpoint.protocol, raw)
    unscored.refuse_without_text(endpoint, [sample])
    item = RewardItem(sample.response, prompt=sample.prompt, messages=sample.messages, metadata=sample.metadata or None)
    if sample.refused == unscored.NO_TEXT:
        state, completion = SampleState(None, sample.refused, sample.reason), None
    else:
        state, completion = _scored(principal, endpoint, item)
    status, answer = _answer(endpoint, raw, state)
    return EndpointTry(
        sent=_readable(json.loads(raw)),
        status=status,
        answered=_readable(answer),
        seconds=time.monotonic() - start,
        code=state.code or "",
        early=state.code == unscored.PENDING and endpoint.deadline_ms > WAIT_S * 1000,
        completion_id=completion,
    )


def _scored(principal: Principal, endpoint: RewardEndpoint, item: RewardItem) -> tuple[SampleState, UUID | None]:
    """Return the state of the item when it is final, or when waiting ends."""
    try:
        submitted = answering.submit(principal, endpoint.task_id, [item], model_id=endpoint.model_id, pointer="")
    except Conflict as exc:
        if exc.code not in CLOSED:
            raise
        return SampleState(None, exc.code), None
    submitted.end_copies()
    hub.wait_all(submitted.unfinished, min(WAIT_S, endpoint.deadline_ms / 1000), sources=submitted.sources)
    (answered,) = answering.answers(submitted.completions)
    code = None if answered.value is not None else answered.code or unscored.PENDING
    return SampleState(answered.value, code), answered.completion_id


def _answer(endpoint: RewardEndpoint, raw: bytes, state: SampleState) -> tuple[int, Any]:
    """Status and body."""
    try:
        outcomes = unscored.outcomes(endpoint, [state])
        return 200, json.loads(protocols.write(endpoint.protocol, raw, outcomes))
    except AutotuneError as exc:
        return exc.status, {"status": exc.status, "code": exc.code, "detail": exc.detail}


def _openrlhf(prompt: str, response: str, label: str) -> dict[str, Any]:
    return {"query": [prompt + response], "prompts": [prompt], "labels": [label or None]}


def _slime(prompt: str, response: str, label: str) -> dict[str, Any]:
    return {"prompt": prompt, "response": response, **({"label": label} if label else {})}


def _verify(prompt: str, response: str, label: str) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": response}]}
    more = {"expected_answer": label} if label else {}
    return {"responses_create_params": {"input": prompt}, "response": {"output": [message]}, **more}


def _foundry(prompt: str, response: str, label: str) -> dict[str, Any]:
    return {"sample": {"output_text": response}, "item": {"prompt": prompt, **({"reference": label} if label else {})}}


_BODIES: Final[dict[str, Callable[[str, str, str], dict[str, Any]]]] = {
    RewardProtocol.OPENRLHF: _openrlhf,
    RewardProtocol.SLIME: _slime,
    RewardProtocol.VERIFY: _verify,
    RewardProtocol.FOUNDRY: _foundry,
}


def _readable(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
