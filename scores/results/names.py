"""Names of tasks, graders and versions for people to read: of what the principal may see, in a query for each kind."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from autotune.access.principal import Principal
from autotune.core import ids
from graders.models import Grader, GraderVersion
from tasks.models import Task


@dataclass(frozen=True, slots=True)
class Named:
    """Something by its name. Of what the principal may not see there is the id alone, and no page."""

    pk: UUID
    public_id: str
    name: str = ""

    @property
    def seen(self) -> bool:
        return bool(self.name)

    @property
    def text(self) -> str:
        """Its name, or its id."""
        return self.name or self.public_id


@dataclass(frozen=True, slots=True)
class Names:
    """What `of` looked up. Whatever is not in it has no name here. `owners`: organizations of the graders."""

    tasks: dict[UUID, str] = field(default_factory=dict)
    graders: dict[UUID, str] = field(default_factory=dict)
    owners: dict[UUID, UUID] = field(default_factory=dict)
    versions: dict[UUID, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        principal: Principal,
        *,
        tasks: Iterable[UUID] = (),
        graders: Iterable[UUID] = (),
        versions: Iterable[UUID] = (),
    ) -> Self:
        """The names of what the principal may see of these; a version's label goes with its grader."""
        known: dict[UUID, str] = {}
        if wanted := set(tasks):
            known = dict(Task.objects.visible_to(principal).filter(pk__in=wanted).values_list("pk", "name"))
        judges: dict[UUID, str] = {}
        owners: dict[UUID, UUID] = {}
        if wanted := set(graders):
            found = Grader.objects.visible_to(principal).filter(pk__in=wanted)
            for pk, name, owner in found.values_list("pk", "name", "organization_id"):
                judges[pk], owners[pk] = name, owner
        labels: dict[UUID, str] = {}
        if (wanted := set(versions)) and judges:
            of_them = GraderVersion.objects.filter(pk__in=wanted, grader_id__in=judges)
            labels = dict(of_them.values_list("pk", "label"))
        return cls(known, judges, owners, labels)

    @classmethod
    def of_rows(cls, principal: Principal, rows: Iterable[Any]) -> Self:
        """Those of the tasks and graders that the rows refer to."""
        rows = list(rows)
        return cls.of(principal, tasks={row.task_id for row in rows}, graders={row.grader_id for row in rows})

    def task(self, pk: UUID) -> Named:
        return Named(pk, ids.encode("task", pk), self.tasks.get(pk, ""))

    def grader(self, pk: UUID) -> Named:
        return Named(pk, ids.encode("grader", pk), self.graders.get(pk, ""))

    def version(self, pk: UUID) -> str:
        """Its label; '' where its grader is not seen."""
        return self.versions.get(pk, "")


def names_of(kind: str, queryset: Any, given: set[str]) -> dict[str, str]:
    """Public id -> name, of those among the given ids that the queryset holds; one query."""
    wanted = {}
    for text in given:
        try:
            wanted[ids.decode(kind, text)] = text
        except ValueError:
            continue
    if not wanted:
        return {}
    return {wanted[pk]: name for pk, name in queryset.filter(pk__in=list(wanted)).values_list("pk", "name")}
