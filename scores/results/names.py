"""Look up the names of tasks, graders and versions that the principal may see; one query for each kind."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from autotune.access.principal import Principal
from autotune.core import ids
from graders.models import Grader, GraderVersion
from tasks.models import Task


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object with its name. One that the principal may not see has only its id, and no page."""

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
class ObjectNames:
    """The names that `of` looked up. `owners`: the organizations of the graders."""

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
        """Look up the names of the objects that the principal may see. A version needs a grader that has a name."""
        task_names: dict[UUID, str] = {}
        if task_ids := set(tasks):
            task_names = dict(Task.objects.visible_to(principal).filter(pk__in=task_ids).values_list("pk", "name"))
        grader_names: dict[UUID, str] = {}
        owners: dict[UUID, UUID] = {}
        if grader_ids := set(graders):
            visible_graders = Grader.objects.visible_to(principal).filter(pk__in=grader_ids)
            for pk, name, owner in visible_graders.values_list("pk", "name", "organization_id"):
                grader_names[pk], owners[pk] = name, owner
        labels: dict[UUID, str] = {}
        if (version_ids := set(versions)) and grader_names:
            readable_versions = GraderVersion.objects.filter(pk__in=version_ids, grader_id__in=grader_names)
            labels = dict(readable_versions.values_list("pk", "label"))
        return cls(task_names, grader_names, owners, labels)

    @classmethod
    def of_rows(cls, principal: Principal, rows: Iterable[Any]) -> Self:
        """Look up the names of the tasks and graders that the rows refer to."""
        rows = list(rows)
        return cls.of(principal, tasks={row.task_id for row in rows}, graders={row.grader_id for row in rows})

    def task(self, pk: UUID) -> NamedObject:
        return NamedObject(pk, ids.encode("task", pk), self.tasks.get(pk, ""))

    def grader(self, pk: UUID) -> NamedObject:
        return NamedObject(pk, ids.encode("grader", pk), self.graders.get(pk, ""))

    def version(self, pk: UUID) -> str:
        """Return the label of a version; '' if its grader may not be seen."""
        return self.versions.get(pk, "")


def names_of(kind: str, queryset: Any, public_ids: set[str]) -> dict[str, str]:
    """Return {public id: name} of the objects in the queryset that have one of the ids; one query."""
    public_id_by_pk = {}
    for public_id in public_ids:
        try:
            public_id_by_pk[ids.decode(kind, public_id)] = public_id
        except ValueError:
            continue
    if not public_id_by_pk:
        return {}
    return {
        public_id_by_pk[pk]: name
        for pk, name in queryset.filter(pk__in=list(public_id_by_pk)).values_list("pk", "name")
    }
