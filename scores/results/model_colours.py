"""The places of an organization's models among the colours of charts: a model has one colour on all of them."""

import time
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID
from zlib import crc32

from django.db.models import Min

from autotune.charts import COLOURS, SLOTS
from scores.models import ScoreCount
from scores.models.counters import NO_TASK, CountSpan

MOST_ORGANIZATIONS: Final = 1_000  # whose places a process remembers
FRESH_S: Final = 600.0  # for so long; only a rebuild of the counters changes the place of a model
_remembered: dict[UUID, tuple[float, dict[str, int]]] = {}


def slots(organization_id: UUID, models: Sequence[str]) -> dict[str, int]:
    """Return the place of each of these models. Two of them share a place only beyond SLOTS models.

    A model's place follows from its name and from the models that the organization had scored before it, so a new model
    never changes the colour of an older one. One statement, or none if the process remembers all of the models.
    """
    until, places = _remembered.get(organization_id, (0.0, {}))
    if until < time.monotonic() or not places.keys() >= set(models):
        earlier_models = _scored_models(organization_id)
        places = assigned([*earlier_models, *sorted(set(models) - set(earlier_models))])
        _remember(organization_id, {model: places[model] for model in earlier_models})
    return distinct(places, models)


def _remember(organization_id: UUID, places: dict[str, int]) -> None:
    if len(_remembered) >= MOST_ORGANIZATIONS:
        _remembered.clear()
    _remembered[organization_id] = (time.monotonic() + FRESH_S, places)


def _scored_models(organization_id: UUID) -> list[str]:
    """Return the models of the organization in the order in which they were first scored."""
    counts = ScoreCount.objects.filter(organization_id=organization_id, span=CountSpan.EVER).exclude(task_id=NO_TASK)
    first_scored = counts.order_by().values("model_id").annotate(first=Min("pk"))
    return [model for model, _ in sorted(first_scored.values_list("model_id", "first"), key=lambda row: row[1])]


def assigned(models: Iterable[str]) -> dict[str, int]:
    """Return a place for each model, in this order: the free one that its name prefers, full lines before patterns."""
    places: dict[str, int] = {}
    taken: set[int] = set()
    for model in models:
        preferred = list(_preferred(model))
        places[model] = next((place for place in preferred if place not in taken), preferred[0])
        taken.add(places[model])
    return places


def distinct(places: dict[str, int], models: Sequence[str]) -> dict[str, int]:
    """Return the places of the models of one chart; of two that share one, the later gets another that is free."""
    taken: dict[str, int] = {}
    for model in models:
        free = (place for place in (places[model], *_preferred(model)) if place not in taken.values())
        taken[model] = next(free, places[model])
    return taken


def _preferred(model: str) -> Iterable[int]:
    """Yield all places, beginning with the colour that the name prefers."""
    first = crc32(model.encode("utf-8", "surrogatepass")) % COLOURS
    for pattern in range(0, SLOTS, COLOURS):
        for step in range(COLOURS):
            yield pattern + (first + step) % COLOURS
