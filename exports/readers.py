"""Which records an export has: one for each completion with a reward, or one for each score."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Coalesce, Length

from exports.inputs import ExportQuery
from exports.ranges import Head, Reader
from scores.filters import Selection
from scores.models import Reward, Score
from scores.privacy import Sight, telling_dimensions
from tasks.models import Completion, PanelMember
from tasks.states import Part

MAX_KNOWN = 10_000
DIMENSIONS = ("grader_id", "organization_id", "dimensions")
COUNTED = Score.objects.live().filter(shadow=False, superseded=False)  # what a newer score has replaced counts no more


def reader(query: ExportQuery, selection: Selection) -> Reader:
    """The reader that `per` asks for."""
    kind = ScoreReader if query.per == "grader" else RewardReader
    return kind(query, selection, Sight.of(selection.principal))


@dataclass(slots=True)
class RewardReader:
    """`per=completion`: rewards with a value. The sole grader's score is told beside it; a panel has no such score."""

    query: ExportQuery
    selection: Selection
    sight: Sight
    sole_graders: dict[UUID, UUID | None] = field(default_factory=dict)

    def heads(self, after: UUID | None, limit: int) -> tuple[list[Head], UUID | None]:
        rewards = self._rewards().order_by("completion_id").annotate(size=_size("completion__"))
        if after:
            rewards = rewards.filter(completion_id__gt=after)
        found = list(
            rewards.values_list(
                "completion_id", "task_id", "completion__model_id", "size", "value", "confidence", "scored_at",
                "completion__task_version_id",
            )[:limit]
        )  # fmt: skip
        self._learn({row[-1] for row in found})
        scores = self._sole_scores([row[0] for row in found if self.sole_graders[row[-1]]])
        heads = []
        for row in found:
            completion, task, model, size, value, confidence, scored_at, version = row
            grader = self.sole_graders[version]
            version_id, dimensions = scores.get((completion, grader), (None, None))
            heads.append(
                Head(completion, task, model, size, value, confidence, scored_at, grader, version_id, dimensions)
            )
        return heads, found[-1][0] if len(found) == limit else None

    def scores(self) -> Any:
        found = self.selection.scoped(COUNTED.filter(run__panel_size=1), "exports")
        found = found.filter(completion__in=self._rewards().values("completion_id"))
        return telling_dimensions(found, self.sight.reader)

    def _rewards(self) -> Any:
        query, selection = self.query, self.selection
        found = selection.bounded(selection.scoped(Reward.objects.filter(value__isnull=False), "exports"))
        found = selection.period(found, "scored_at")
        if query.min_reward is not None:
            found = found.filter(value__gte=query.min_reward)
        if query.model_id is not None:
            found = found.filter(completion__model_id=query.model_id)
        if selection.grader or selection.grader_version:
            scores = COUNTED.filter(completion_id=OuterRef("completion_id"))
            found = found.filter(Exists(selection.judged_by(scores)))
        return found

    def _sole_scores(self, completions: list[UUID]) -> dict[tuple[UUID, UUID | None], tuple[Any, Any]]:
        """(completion, grader) -> (grader version, dimensions) of the newest score, which is the one rewarded."""
        if not completions:
            return {}
        found = COUNTED.filter(completion_id__in=completions).order_by("id")
        if not self.query.dimensions:
            plain = found.values_list("completion_id", "grader_id", "grader_version_id")
            return {(pk, grader): (version, None) for pk, grader, version in plain}
        rows = list(found.values_list("completion_id", "grader_version_id", *DIMENSIONS))
        told = _told(self.sight, rows)
        return {(row[0], row[2]): (row[1], dimensions) for row, dimensions in zip(rows, told, strict=True)}

    def _learn(self, versions: Collection[UUID]) -> None:
        """Note the sole scoring grader of each task version, None for a panel of several."""
        if len(self.sole_graders) > MAX_KNOWN:
            self.sole_graders.clear()
        unknown = set(versions) - self.sole_graders.keys()
        if not unknown:
            return
        members = PanelMember.objects.filter(task_version__in=unknown, part=Part.SCORING)
        panels: dict[UUID, list[UUID]] = {version: [] for version in unknown}
        for version, grader in members.values_list("task_version_id", "grader_id"):
            panels[version].append(grader)
        self.sole_graders.update({v: panel[0] if len(panel) == 1 else None for v, panel in panels.items()})


@dataclass(slots=True)
class ScoreReader:
    """`per=grader`: scores that count, by completion and then in the order they came."""

    query: ExportQuery
    selection: Selection
    sight: Sight

    def heads(self, after: UUID | None, limit: int) -> tuple[list[Head], UUID | None]:
        completions = self.selection.scoped(Completion.objects.all(), "exports").order_by("id")
        if after:
            completions = completions.filter(id__gt=after)
        if self.query.model_id is not None:
            completions = completions.filter(model_id=self.query.model_id)
        found = list(completions.annotate(size=_size("")).values_list("id", "task_id", "model_id", "size")[:limit])
        facts = {row[0]: row for row in found}
        heads = [Head(*facts[pk], *rest) for pk, *rest in self._of(facts)] if facts else []
        return heads, found[-1][0] if len(found) == limit else None

    def scores(self) -> Any:
        found = self.selection.scoped(self._counted(), "exports")
        if self.query.model_id is not None:
            found = found.filter(completion__model_id=self.query.model_id)
        return telling_dimensions(found, self.sight.reader)

    def _counted(self) -> Any:
        selection = self.selection
        found = selection.judged_by(COUNTED.all())
        found = selection.period(selection.bounded(found), "created_at")
        if self.query.min_reward is not None:
            found = found.filter(completion__reward__value__gte=self.query.min_reward)
        return found

    def _of(self, completions: Collection[UUID]) -> Any:
        found = self._counted().filter(completion_id__in=completions).order_by("completion_id", "id")
        members = ("completion_id", "value", "confidence", "created_at")
        if not self.query.dimensions:
            return [(*row, None) for row in found.values_list(*members, "grader_id", "grader_version_id")]
        rows = list(found.values_list(*members, "grader_version_id", *DIMENSIONS))
        told = _told(self.sight, rows)
        return [
            (*row[:4], row[5], row[4], dimensions) for row, dimensions in zip(rows, told, strict=True)
        ]  # as Head has them


def _told(sight: Sight, rows: list[tuple[Any, ...]]) -> list[Any]:
    """The dimensions of rows that end with DIMENSIONS, null where the reader may not see them."""
    sight.judges.meet({row[-3] for row in rows if row[-1] is not None})
    return [dimensions if sight.dimensions_by(grader, owner) else None for *_, grader, owner, dimensions in rows]


def _size(path: str) -> Any:
    """Octets of prompt and response as stored; the database knows them without reading the texts."""
    return Coalesce(Length(F(f"{path}prompt")), 0) + Coalesce(Length(F(f"{path}response")), 0)
