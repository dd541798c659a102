"""Preference pairs as one answer: a sample of a task's, with their texts."""

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

from autotune.access import idempotency, policy
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import ApiStruct
from autotune.core.connections import release
from autotune.core.errors import Invalid, NotFound
from exports import pairs, prompts, ranges
from exports.inputs import check_cap
from exports.pair_inputs import PairsWanted
from exports.pairs import Choice, Pair
from tasks.models import Completion, Task

RESOURCE: Final = "preference_pairs"
ROUTE: Final = "POST /api/v1/preference-pairs"
MAX_OCTETS: Final = 32 * 1024 * 1024  # of the texts of an answer, which is made whole


class PairOut(ApiStruct):
    """Two answers to a prompt, and what they were rewarded."""

    prompt: str
    chosen: str
    rejected: str
    chosen_score: float
    rejected_score: float


class PairsOut(ApiStruct, dict=True):
    """The sample, and how many pairs it was drawn from. Its attribute `task_id` is not part of the answer."""

    pairs: list[PairOut]
    available: int


def answer(principal: Principal, wanted: PairsWanted) -> PairsOut:
    """A sample of the pairs, the same for the same seed as long as the rewards are the same.

    raises  NotFound for a task that the caller may not see; Invalid for a cap without use, or if the texts were too
            much for one answer
    """
    check_cap(wanted.cap_per_prompt, wanted.strategy, at="/")
    task = wanted.task_id.uuid
    choice = Choice(
        wanted.strategy or pairs.BEST_WORST, wanted.min_score_delta, wanted.cap_per_prompt, wanted.seed or 0
    )
    made, available = pairs.sample(_rewarded(principal, task, wanted.model_id), choice, wanted.sample_size)
    release()
    _check_size(made)
    told = PairsOut(_told(made), available)
    told.task_id = ids.encode("task", task)  # type: ignore[attr-defined] # names what is erased with its texts
    return told


def forget(completions: Collection[UUID], **_: Any) -> None:
    """`texts_erased`, `score_deleted`: take the stored answers that may tell of these: all of their tasks'."""
    tasks = set(Completion.objects.filter(pk__in=completions).order_by().values_list("task_id", flat=True))
    idempotency.forget([*tasks, idempotency.in_flight(ROUTE)], about=ROUTE)


def _rewarded(principal: Principal, task: UUID, model_id: str | None) -> Any:
    """The rewarded completions of a task, as far as the caller's right to make pairs goes."""
    tasks = Task.objects.visible_to(principal) | policy.scope(Task.objects.all(), principal, RESOURCE, "create")
    if not tasks.filter(pk=task).exists():
        raise NotFound.at("/taskId", "task")
    found = policy.scope(Completion.objects.all(), principal, RESOURCE, "create")
    found = found.filter(task_id=task, reward__task_id=task)
    return found if model_id is None else found.filter(model_id=model_id)


def _check_size(made: list[Pair]) -> None:
    known = prompts.sizes(list({pk for pair in made for pk in (pair.chosen, pair.rejected)}))
    nothing = (0, b"")
    octets = sum(known.get(pk, nothing)[0] for pair in made for pk in (pair.chosen, pair.rejected))
    if octets > MAX_OCTETS:
        detail = (
            f"the texts of these {len(made)} pairs are {octets >> 20} MiB, and an answer holds {MAX_OCTETS >> 20}: "
            "ask for fewer, or for an export with layout=preferences."
        )
        raise Invalid.field("/sampleSize", "out_of_range", detail)


def _told(made: list[Pair]) -> list[PairOut]:
    """The pairs with their texts; those with a text that was erased meanwhile are left out."""
    texts = ranges.texts_of(
        list(dict.fromkeys(pk for pair in made for pk in (pair.chosen, pair.rejected))), ("prompt", "response")
    )
    release()
    found = []
    for pair in made:
        if pair.chosen in texts and pair.rejected in texts:
            prompt, chosen = (text.decode() for text in texts[pair.chosen] if text is not None)
            rejected = (texts[pair.rejected][1] or b"").decode()
            found.append(PairOut(prompt, chosen, rejected, pair.chosen_score, pair.rejected_score))
    return found
