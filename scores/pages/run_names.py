"""The names of tasks and graders that rows refer to, as far as the reader may see them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from autotune.access.principal import Principal
from autotune.core import ids
from graders.models import Grader
from tasks.models import Task

OFFERED: Final = 200  # choices of a filter


@dataclass(frozen=True, slots=True)
class Name:
    """How a row's task or grader is shown: its name with the address of its page, or its id alone."""

    pk: UUID
    text: str
    known: bool


class Names:
    """Of the tasks or graders with these keys; two queries for any number of them, one where the graders are known."""

    def __init__(self, principal: Principal, rows: Iterable[Any], graders: Mapping[UUID, Grader] | None = None) -> None:
        rows = list(rows)
        self.tasks = _named(Task.objects.visible_to(principal), "task", {row.task_id for row in rows})
        wanted = {row.grader_id for row in rows}
        if graders is None:
            self.graders = _named(Grader.objects.visible_to(principal), "grader", wanted)
        else:
            self.graders = _shown("grader", wanted, {pk: grader.name for pk, grader in graders.items()})

    def task(self, row: Any) -> Name:
        return self.tasks[row.task_id]

    def grader(self, row: Any) -> Name:
        return self.graders[row.grader_id]


def graders(principal: Principal, pks: Iterable[UUID]) -> dict[UUID, Name]:
    """The names of graders."""
    return _named(Grader.objects.visible_to(principal), "grader", set(pks))


def choices(queryset: Any, kind: str, chosen: str) -> list[tuple[str, str]]:
    """(id, name) for a filter's select; what is chosen is among them, by its id if it has no name here."""
    offered = [
        (ids.encode(kind, pk), name) for pk, name in queryset.order_by("name", "pk").values_list("pk", "name")[:OFFERED]
    ]
    if chosen and chosen not in {value for value, _ in offered}:
        offered.insert(0, (chosen, chosen))
    return offered


def _named(queryset: Any, kind: str, pks: set[UUID]) -> dict[UUID, Name]:
    return _shown(kind, pks, dict(queryset.filter(pk__in=pks).values_list("pk", "name")) if pks else {})


def _shown(kind: str, pks: set[UUID], known: Mapping[UUID, str]) -> dict[UUID, Name]:
    return {pk: Name(pk, known.get(pk) or ids.encode(kind, pk), pk in known) for pk in pks}


def tasks(principal: Principal, pks: Iterable[UUID]) -> dict[UUID, Name]:
    """The names of tasks."""
    return _named(Task.objects.visible_to(principal), "task", set(pks))


def public(kind: str, pk: UUID) -> str:
    return ids.encode(kind, pk)
