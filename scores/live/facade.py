"""Answer trainers' calls to reward endpoints in two steps, `begin` and `finish`. The server waits between them.

Both take a batch of calls, since trainers send thousands at once, one sample each: the samples of a batch are stored
together and read together. Neither step waits, and no connection is held between them.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings

from autotune.access import commits
from autotune.access.audit import trail
from autotune.access.audit.current_call import AuditedCall
from autotune.access.principal import Principal
from autotune.access.throttling import rates
from autotune.access.throttling.throttles import failure_rate, subject_of_address
from autotune.core.errors import AutotuneError, Conflict, Forbidden, Invalid, NotFound, TooManyRequests
from scores.engine import copies
from scores.live import answering, counting, endpoints, protocols, unscored
from scores.live.boundary import caught
from scores.live.protocols import TrainerSample
from scores.live.requests import RewardItem
from scores.live.unscored import SampleState
from scores.models import RewardEndpoint
from scores.states import RewardProtocol

NOWHERE: Final = "There is no such reward endpoint."
CLOSED: Final = frozenset({"task_archived", "grader_inactive"})
_PLACE: Final = re.compile(r"/(\d+)(?:/|$)")


@dataclass(eq=False, slots=True)
class ProtocolCall:
    """One call and its progress.

    arrived      time.monotonic() at which its deadline begins
    audited      its audit event, which is written in the transaction that stores its samples
    raw          the body until it is read; until the end for a protocol that repeats it
    completions  one for each sample; None for one that cannot be scored
    sources      waiting completion -> the completion that a grader judges, for each that waits for a copy
    stored       whether its samples and its event are stored
    error        why it is rejected
    """

    protocol: str
    token: str
    raw: bytes
    address: str
    reward_key: str | None = None
    audited: AuditedCall | None = None
    arrived: float = field(default_factory=time.monotonic)
    endpoint: RewardEndpoint | None = None
    samples: list[TrainerSample] = field(default_factory=list)
    completions: list[UUID | None] = field(default_factory=list)
    unfinished: set[UUID] = field(default_factory=set)
    sources: dict[UUID, UUID] = field(default_factory=dict)
    stored: bool = False
    error: AutotuneError | None = None

    def left_s(self) -> float:
        """Seconds until the deadline; negative after it."""
        assert self.endpoint is not None
        return self.endpoint.deadline_ms / 1000 - (time.monotonic() - self.arrived)


def begin(asks: Sequence[ProtocolCall]) -> None:
    """Read the calls and store their new samples. Each call then has its completions or its error. Raises nothing."""
    with caught(partial(_fail, asks)):
        for group in _by_endpoint(asks):
            with caught(partial(_fail, group)):
                assert group[0].endpoint is not None
                principal = endpoints.principal_of(group[0].endpoint)
                read = [ask for ask in group if _read(ask)]
                for part in _parts(read):
                    _submit(principal, part)


def finish(asks: Sequence[ProtocolCall]) -> list[bytes | AutotuneError]:
    """Return the answer of each call: JSON, or its error. Raises nothing."""
    completion_ids = {pk for ask in asks if ask.error is None for pk in ask.completions if pk is not None}
    answers: dict[UUID, answering.LiveAnswerResult] = {}
    with caught(partial(_fail, asks, even_stored=True)):
        rows = answering.answers(list(completion_ids)) if completion_ids else []
        answers = {answer.completion_id: answer for answer in rows}
    return [ask.error or _answer_or_error(ask, answers) for ask in asks]


def _by_endpoint(asks: Sequence[ProtocolCall]) -> Iterable[list[ProtocolCall]]:
    """Give the calls their endpoints, and group them by these. A call without one gets its error, and is left out."""
    digests = [endpoints.digest_of(ask.token) for ask in asks]
    endpoint_by_digest = endpoints.by_digest(set(digests))
    groups: dict[UUID, list[ProtocolCall]] = {}
    for ask, digest in zip(asks, digests, strict=True):
        with caught(partial(_fail, [ask])):
            ask.endpoint = _entered(ask, endpoint_by_digest.get(digest))
            groups.setdefault(ask.endpoint.pk, []).append(ask)
    return groups.values()


def _entered(ask: ProtocolCall, endpoint: RewardEndpoint | None) -> RewardEndpoint:
    """Return the endpoint of the token.

    raises  NotFound, TooManyRequests for an address that guesses tokens, Invalid for a wrong parameter
    """
    is_off = ask.protocol == RewardProtocol.FOUNDRY and not settings.FOUNDRY_GRADER
    if endpoint is None or endpoint.protocol != ask.protocol or is_off:
        rate = failure_rate()
        allowance = rates.check(subject_of_address(ask.address), rate) if rate else None
        if allowance is not None and not allowance.admitted:
            detail = "Too many requests from this address named no reward endpoint. Check the URL, and try again later."
            raise TooManyRequests(detail, headers={"Retry-After": str(allowance.retry_after_s)})
        raise NotFound(NOWHERE)
    if ask.audited is not None:
        ask.audited.actor = ask.audited.object_id = endpoint.public_id
        ask.audited.organization_id = endpoint.organization_id
    if ask.reward_key is not None and ask.protocol != RewardProtocol.SLIME:
        raise Invalid.field("?rewardKey", "unknown_parameter", "only endpoints for slime accept it.")
    if ask.reward_key == "state":
        raise Invalid.field("?rewardKey", "invalid_choice", "use another name: `state` says whether there is a score.")
    return endpoint


def _read(ask: ProtocolCall) -> bool:
    """Read the samples of a call. False, and the call has its error, if the body does not fit its protocol."""
    with caught(partial(_fail, [ask])):  # an error in one body must not fail other calls
        ask.samples = protocols.read(ask.protocol, ask.raw)
        if len(ask.samples) > settings.MAX_LIVE_ITEMS:
            raise Invalid.field("", "invalid_length", f"send at most {settings.MAX_LIVE_ITEMS} samples at once.")
    if ask.error is not None:
        return False
    assert ask.endpoint is not None
    unscored.refuse_without_text(ask.endpoint, ask.samples)
    if ask.protocol != RewardProtocol.VERIFY:
        ask.raw = b""
    if ask.audited is not None:
        ask.audited.objects_count = len(ask.samples)
    return True


def _parts(asks: Sequence[ProtocolCall]) -> Iterator[list[ProtocolCall]]:
    """Yield groups of calls to store in one transaction, with at most MAX_LIVE_ITEMS samples each."""
    part: list[ProtocolCall] = []
    size = 0
    for ask in asks:
        if part and size + len(ask.samples) > settings.MAX_LIVE_ITEMS:
            yield part
            part, size = [], 0
        part.append(ask)
        size += len(ask.samples)
    if part:
        yield part


def _submit(principal: Principal, asks: Sequence[ProtocolCall]) -> None:
    """Store the samples of the calls with their events.

    A sample that breaks a rule is left out. If the task takes no new work, each call is submitted separately, since the
    samples of some calls may have been scored before. The samples of the others get no score, for that reason.
    """
    while True:
        samples = [(ask, index) for ask in asks for index, sample in enumerate(ask.samples) if not sample.refused]
        try:
            commits.whole(partial(_store, principal, asks, samples))
        except Invalid as exc:
            if not _leave_out(samples, exc):
                raise
        except Conflict as exc:
            if exc.code not in CLOSED:
                raise unscored.StillPending from exc
            if len(asks) > 1:
                for ask in asks:
                    _submit(principal, [ask])
                return
            for ask, index in samples:
                ask.samples[index].refused = exc.code
        else:
            _end_copies(asks)
            for ask in asks:
                _mark_stored(ask)
            return


def _end_copies(asks: Sequence[ProtocolCall]) -> None:
    """End the copies of all calls whose sources are final. Without this, the stored calls only wait longer."""
    sources = {pk: source for ask in asks for pk, source in ask.sources.items()}
    if not sources:
        return
    finality = {ended.completion_id: ended.is_final for ended in copies.end(sources)}
    for ask in asks:
        ask.unfinished = {pk for pk in ask.unfinished if not finality.get(pk)}
        ask.sources = {pk: source for pk, source in ask.sources.items() if pk not in finality}


def _mark_stored(ask: ProtocolCall) -> None:
    """Mark a call as stored, and release its text, since it may wait for a long time."""
    ask.stored = True
    for sample in ask.samples:
        sample.prompt = sample.messages = sample.metadata = None
        sample.response = ""


def _store(principal: Principal, asks: Sequence[ProtocolCall], samples: Sequence[tuple[ProtocolCall, int]]) -> None:
    for ask in asks:
        ask.completions, ask.unfinished, ask.sources = [None] * len(ask.samples), set(), {}
    if samples:
        _store_samples(principal, samples)
    for ask in asks:
        if ask.audited is not None:
            trail.written(ask.audited, 200)


def _store_samples(principal: Principal, samples: Sequence[tuple[ProtocolCall, int]]) -> None:
    endpoint = samples[0][0].endpoint
    assert endpoint is not None
    items = [_item(ask.samples[index]) for ask, index in samples]
    try:
        submitted = answering.submit(principal, endpoint.task_id, items, model_id=endpoint.model_id, pointer="")
    except NotFound as exc:
        raise Forbidden("The person who created this reward endpoint can no longer see its task.") from exc
    for (ask, index), completion_id in zip(samples, submitted.completions, strict=True):
        ask.completions[index] = completion_id
        if completion_id in submitted.unfinished:
            ask.unfinished.add(completion_id)
            if source := submitted.sources.get(completion_id):
                ask.sources[completion_id] = source


def _item(sample: TrainerSample) -> RewardItem:
    return RewardItem(
        response=sample.response, prompt=sample.prompt, messages=sample.messages, metadata=sample.metadata or None
    )


def _leave_out(samples: Sequence[tuple[ProtocolCall, int]], exc: Invalid) -> bool:
    """Mark the samples that intake refuses, by pointers such as `/3/response`; False where it names none."""
    marked = False
    for error in exc.errors:
        if match := _PLACE.match(error.pointer):
            ask, index = samples[int(match[1])]
            ask.samples[index].refused = error.code
            ask.samples[index].reason = f"{error.pointer[match.end(1) :]}: {error.detail}"
            marked = True
    return marked


def _answer_or_error(ask: ProtocolCall, answers: dict[UUID, answering.LiveAnswerResult]) -> bytes | AutotuneError:
    """The answer of one call, or its error: an error in one call must not fail the others."""
    answer: bytes | AutotuneError = b""
    with caught(partial(_fail, [ask], even_stored=True)):
        answer = _answered(ask, answers)
    return ask.error or answer


def _answered(ask: ProtocolCall, answers: dict[UUID, answering.LiveAnswerResult]) -> bytes | AutotuneError:
    endpoint = ask.endpoint
    assert endpoint is not None
    states = [
        SampleState(None, sample.refused or unscored.PENDING, sample.reason)
        if pk is None or pk not in answers
        else _state(answers[pk])
        for sample, pk in zip(ask.samples, ask.completions, strict=True)
    ]
    codes = Counter(state.code or unscored.PENDING for state in states if state.value is None)
    answered = stand_ins = 0
    try:
        outcomes = unscored.outcomes(endpoint, states)
        answered, stand_ins = len(outcomes), codes.total()
        return protocols.write(ask.protocol, ask.raw, outcomes, reward_key=ask.reward_key)
    except AutotuneError as exc:
        return exc
    finally:
        counting.note(endpoint.pk, answered=answered, stand_ins=stand_ins, codes=codes)


def _state(answered: answering.LiveAnswerResult) -> SampleState:
    return SampleState(answered.value, answered.code if answered.value is None else None)


def _fail(asks: Sequence[ProtocolCall], error: AutotuneError, *, even_stored: bool = False) -> None:
    """Set the error of the calls that have none. Those whose samples are stored stay as they are, unless `even_stored`.

    A call that is stored is answered by its scores, even if a later call of its group failed.
    """
    for ask in asks:
        if ask.error is None and (even_stored or not ask.stored):
            ask.error = error
