"""Withdraw exports after an erasure or a deleted score: files that hold the text or the score are deleted,
and a part that is being written is checked again.

Autotune knows only the range of completion ids, the tasks and the models of a file, so it may also withdraw an export
that left the completion out. That is the safe choice, and the export can be created again.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db.models import F, Q

from autotune.core import ids
from exports.models import Export, ExportFile
from exports.states import FileKind
from exports.work import ending
from tasks.models import Completion

# An erasure may begin before a part and commit after it. This is longer than any transaction takes.
SLACK: Final = timedelta(seconds=60)


class ErasedCompletion(NamedTuple):
    """A completion whose text is being erased."""

    pk: UUID
    organization: UUID
    task: str
    model: str


def receive(completions: Collection[UUID], *, deleted: bool = False, **_: Any) -> None:
    """Handle `texts_erased` in the erasing transaction. Waits for the commit of a part, and delays the next."""
    erased_completions = Completion.objects.filter(pk__in=completions)
    rows = erased_completions.order_by("pk").values_list("pk", "organization_id", "task_id", "model_id")
    erased = [
        ErasedCompletion(pk, organization, ids.encode("task", task), model) for pk, organization, task, model in rows
    ]
    if not erased:
        return
    concerned = _of({completion.organization for completion in erased}, "")
    unfinished = Export.objects.filter(concerned).unfinished().order_by("pk").select_for_update(no_key=True)
    disturbed = [pk for pk, query in unfinished.values_list("pk", "query") if _may_contain(query, erased)]
    if disturbed:
        disturbed_exports = Export.objects.filter(pk__in=disturbed)
        disturbed_exports.update(erasure_count=F("erasure_count") + 1)
        if deleted:  # their rows will be gone, and cannot show when
            disturbed_exports.filter(Q(purged_to=None) | Q(purged_to__lt=erased[-1].pk)).update(purged_to=erased[-1].pk)
    if affected_exports := _containing(erased):
        ending.withdraw(affected_exports)


def receive_deleted(completions: Collection[UUID], **_: Any) -> None:
    """Handle `score_deleted`: the text stays, but files that hold the score are deleted."""
    receive(completions, deleted=True)


def erased_in(export: Export, first: UUID, last: UUID, began: datetime) -> bool:
    """Return whether text that a part started at `began` may hold has been erased since."""
    erased_completions = Completion.objects.filter(pk__gte=first, pk__lte=last, erased_at__gte=began - SLACK)
    if export.reach == "organization":
        erased_completions = erased_completions.filter(organization_id=export.organization_id)
    if "taskId" in export.query:
        erased_completions = erased_completions.filter(task_id=ids.decode("task", export.query["taskId"]))
    return erased_completions.exists()


def _of(organizations: Collection[UUID], path: str) -> Q:
    """Return exports that can hold text of these organizations; those with a reach beyond one may hold any."""
    of_organizations = Q(**{f"{path}organization_id__in": organizations})
    return of_organizations | ~Q(**{f"{path}reach": "organization"})


def _may_contain(query: dict[str, Any], erased: Sequence[ErasedCompletion]) -> bool:
    task, model = query.get("taskId"), query.get("modelId")
    return any(task in (None, completion.task) and model in (None, completion.model) for completion in erased)


def _containing(erased: Sequence[ErasedCompletion]) -> set[UUID]:
    """Return the exports with a finished file that may hold one of the completions."""
    files = ExportFile.objects.filter(
        _of({completion.organization for completion in erased}, "export__"),
        kind=FileKind.DATA,
        first__lte=erased[-1].pk,
        last__gte=erased[0].pk,
    )
    return {file.export_id for file in files.only("export_id", "first", "last", "facts") if _covers(file, erased)}


def _covers(file: ExportFile, erased: Sequence[ErasedCompletion]) -> bool:
    assert file.first is not None
    assert file.last is not None
    assert file.facts is not None
    tasks, models = set(file.facts["tasks"]), set(file.facts["models"])
    return any(
        file.first <= completion.pk <= file.last and completion.task in tasks and completion.model in models
        for completion in erased
    )
