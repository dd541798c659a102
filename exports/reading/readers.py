"""Readers of records: one record for each completion with a reward, or one for each score."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from statistics import fmean
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Exists, OuterRef, Subquery
from django.db.models.functions import Coalesce, Length

from exports.reading import left_out, rows
from exports.reading.left_out import ALL, Forms
from exports.reading.ranges import RangeReader, RecordHead
from exports.requests import ExportQuery
from scores.models import Score
from scores.results.filters import Selection
from scores.results.privacy import ViewerSight, with_readable_dimensions
from scores.states import RunPurpose
from tasks.models import Completion, PanelMember
from tasks.states import PanelPart

MAX_KNOWN = 10_000
# The score that a completion's first copied score copies. Few completions have one; a partial index holds only those.
REUSED_FROM = Subquery(
    Score.objects.filter(completion=OuterRef("pk"), reused_from__isnull=False).order_by("pk").values("reused_from")[:1]
)
OF_COMPLETION = ("task_version_id", "form", "external_id", "reused_from")  # the last members of RecordHead
DIMENSIONS = ("grader_id", "organization_id", "dimensions")
COUNTED = Score.objects.live().filter(
    purpose=RunPurpose.SCORE, superseded=False
)  # excludes scores that a newer one has replaced
# Stored bytes of prompt and response: the database knows these lengths without reading the text.
SIZE = Coalesce(Length("prompt"), 0) + Coalesce(Length("response"), 0)
CONVERSATION_SIZE = SIZE + Coalesce(Length("messages"), 0)  # for layouts that read the messages too
WHOLE_SIZE = CONVERSATION_SIZE + Coalesce(Length("metadata"), 0)


def reader(query: ExportQuery, selection: Selection) -> RangeReader:
    """Return the reader that `per` selects."""
    kind = ScoreReader if query.per == "grader" else RewardReader
    return kind(query, selection)


@dataclass
class RewardReader:
    """Reads rewards with a value (`per=completion`), with the score of a sole grader; a panel has no such score."""

    counts: ClassVar[bool] = True  # whether layouts by prompt count what they leave out
    query: ExportQuery
    selection: Selection
    sole_graders: dict[bytes, bytes | None] = field(default_factory=dict)

    @cached_property
    def sight(self) -> ViewerSight:
        """What the reader of the export sees of dimensions; an export without dimensions needs none."""
        return ViewerSight.of(self.selection.principal)

    @property
    def forms(self) -> Forms:
        return left_out.carried(self.query)

    def heads(
        self, after: UUID | None, limit: int, *, only_fitting: bool = False
    ) -> tuple[list[RecordHead], UUID | None]:
        completions = (
            self.rewarded_completions()
            if not only_fitting
            else left_out.fitting(self.rewarded_completions(), self.forms)
        )
        completions = completions.order_by("id").annotate(size=_size(self.query), reused_from=REUSED_FROM)
        if after:  # bounds both tables, or the database would read one from its beginning each time
            completions = completions.filter(id__gt=after, reward__pk__gt=after)
        completion_rows = rows.plain(
            completions.values_list(
                "id", "task_id", "model_id", "size", "reward__value", "reward__confidence", "reward__scored_at",
                *OF_COMPLETION,
            )[:limit]
        )  # fmt: skip
        self._learn({row[7] for row in completion_rows})
        graders = [self.sole_graders[row[7]] for row in completion_rows]
        if self.query.includes_dimensions:
            scores = self._scores_with_dimensions([row[0] for row in completion_rows])
        else:
            scores = self._sole_scores([row[0] for row, grader in zip(completion_rows, graders, strict=True) if grader])
        nothing = (None, None)
        heads = [
            RecordHead._make((*row[:7], grader, *scores.get((row[0], grader), nothing), *row[7:]))
            for row, grader in zip(completion_rows, graders, strict=True)
        ]
        return heads, UUID(bytes=completion_rows[-1][0]) if len(completion_rows) == limit else None

    def count(self) -> int:
        return self.fitting().count()

    def fitting(self) -> Any:
        """Return the rewarded completions that make rows."""
        return left_out.fitting(self.rewarded_completions(), self.forms)

    def scores(self) -> Any:
        scores = self.selection.scoped(COUNTED.for_readers(self.selection.sources), "exports")
        scores = scores.filter(completion__in=self.rewarded_completions().values("pk"))
        return with_readable_dimensions(scores, self.sight.reader)

    def rewarded_completions(self) -> Any:
        """Return every completion of the selection that has a reward."""
        query, selection = self.query, self.selection
        completions = selection.scoped(Completion.objects.for_readers_of_rewards(selection.sources), "exports")
        completions = selection.period(selection.bounded_rewards(completions, "reward__"), "reward__scored_at")
        if selection.task:
            # the same as the completion's task; reward has the index that serves this
            completions = completions.filter(reward__task_id=selection.task)
        if query.min_reward is not None:
            completions = completions.filter(reward__value__gte=query.min_reward)
        if query.model_id is not None:
            completions = completions.filter(model_id=query.model_id)
        if selection.grader or selection.grader_version:
            completions = completions.filter(Exists(selection.judged_by(COUNTED.filter(completion_id=OuterRef("pk")))))
        return completions

    def _sole_scores(self, completions: list[bytes]) -> dict[tuple[bytes, bytes | None], tuple[Any, Any]]:
        """Map (completion, grader) to (grader version, dimensions) of the newest score, which made the reward."""
        if not completions:
            return {}
        scores = rows.among(COUNTED.all(), "completion_id", completions).order_by("id")
        score_rows = rows.plain(scores.values_list("completion_id", "grader_id", "grader_version_id"))
        return {(pk, grader): (version, None) for pk, grader, version in score_rows}

    def _scores_with_dimensions(self, completions: list[bytes]) -> dict[tuple[bytes, bytes | None], tuple[Any, Any]]:
        """Return versions and dimensions by completion and grader; None holds the dimensions of the whole panel."""
        if not completions:
            return {}
        counted_scores = rows.among(COUNTED.all(), "completion_id", completions).order_by("id")
        scores_with_dimensions = _with_readable_dimensions(
            self.sight, rows.plain(counted_scores.values_list("completion_id", "grader_version_id", *DIMENSIONS))
        )
        scores: dict[tuple[bytes, bytes | None], tuple[Any, Any]] = {
            (row[0], row[2]): (row[1], dimensions) for row, dimensions in scores_with_dimensions
        }
        panels: dict[bytes, list[Any]] = {}
        for (completion, _), (_, dimensions) in scores.items():
            panels.setdefault(completion, []).append(dimensions)
        scores |= {(completion, None): (None, merged(panel)) for completion, panel in panels.items()}
        return scores

    def _learn(self, versions: Collection[bytes]) -> None:
        """Note the sole scoring grader of each task version, None for a panel of several."""
        if len(self.sole_graders) > MAX_KNOWN:
            self.sole_graders.clear()
        unknown = set(versions) - self.sole_graders.keys()
        if not unknown:
            return
        members = PanelMember.objects.filter(
            task_version__in=[UUID(bytes=pk) for pk in unknown], part=PanelPart.SCORING
        )
        panels: dict[bytes, list[bytes]] = {version: [] for version in unknown}
        for version, grader in rows.plain(members.values_list("task_version_id", "grader_id")):
            panels[version].append(grader)
        self.sole_graders.update({v: panel[0] if len(panel) == 1 else None for v, panel in panels.items()})


@dataclass
class ScoreReader:
    """Reads the current scores of completions with a final reward (`per=grader`), by completion, then by age.

    While a completion is scored again, a grader can have two current scores; the reader returns the newer one.
    """

    query: ExportQuery
    selection: Selection

    @cached_property
    def sight(self) -> ViewerSight:
        """What the reader of the export sees of dimensions; an export without dimensions needs none."""
        return ViewerSight.of(self.selection.principal)

    @property
    def forms(self) -> Forms:
        return left_out.carried(self.query)

    def heads(
        self, after: UUID | None, limit: int, *, only_fitting: bool = False
    ) -> tuple[list[RecordHead], UUID | None]:
        rewarded = Completion.objects.for_readers_of_rewards(self.selection.sources)
        completions = self.selection.scoped(rewarded, "exports")
        if only_fitting:
            completions = left_out.fitting(completions, self.forms)
        if self.selection.task:
            completions = completions.filter(reward__task_id=self.selection.task)
        # A filter that few scores pass must not cost a query for each empty range.
        completions = completions.filter(Exists(self._counted().filter(completion_id=OuterRef("pk"))))
        if after:  # bounds both tables, as above
            completions = completions.filter(id__gt=after, reward__pk__gt=after)
        if self.query.model_id is not None:
            completions = completions.filter(model_id=self.query.model_id)
        completions = completions.order_by("id").annotate(size=_size(self.query), reused_from=REUSED_FROM)
        selected = rows.plain(completions.values_list("id", "task_id", "model_id", "size", *OF_COMPLETION)[:limit])
        facts = {row[0]: row for row in selected}
        heads = [RecordHead._make((*facts[row[0]][:4], *row[1:], *facts[row[0]][4:])) for row in self._of(facts or ())]
        return heads, UUID(bytes=selected[-1][0]) if len(selected) == limit else None

    def count(self) -> int:
        selected = self._selected()
        return (selected if self.forms == ALL else selected.filter(completion__form__in=sorted(self.forms))).count()

    def scores(self) -> Any:
        return with_readable_dimensions(self._selected(), self.sight.reader)

    def _selected(self) -> Any:
        scores = self.selection.scoped(_settled(self._counted()), "exports")
        if self.query.model_id is not None:
            scores = scores.filter(completion__model_id=self.query.model_id)
        return scores

    def _counted(self) -> Any:
        selection = self.selection
        scores = selection.judged_by(COUNTED.for_readers(selection.sources))
        scores = selection.period(selection.bounded(scores), "created_at")
        if self.query.min_reward is not None:
            scores = scores.filter(completion__reward__value__gte=self.query.min_reward)
        return scores

    def _of(self, completions: Collection[bytes]) -> Any:
        if not completions:
            return []
        scores = rows.among(_settled(self._counted()), "completion_id", [*completions])
        scores = scores.order_by("completion_id", "id")
        members = ("completion_id", "value", "confidence", "created_at")
        if not self.query.includes_dimensions:
            return [(*row, None) for row in rows.plain(scores.values_list(*members, "grader_id", "grader_version_id"))]
        scores_with_dimensions = _with_readable_dimensions(
            self.sight, rows.plain(scores.values_list(*members, "grader_version_id", *DIMENSIONS))
        )
        # in the order of RecordHead's members
        return [(*row[:4], row[5], row[4], dimensions) for row, dimensions in scores_with_dimensions]


def _settled(scores: Any) -> Any:
    """Return the scores of completions with a reward, without those that a newer score of the grader will replace."""
    same = COUNTED.filter(completion_id=OuterRef("completion_id"), grader_id=OuterRef("grader_id"))
    return scores.filter(~Exists(same.filter(id__gt=OuterRef("id"))), completion__reward__value__isnull=False)


def merged(panel: Sequence[list[dict[str, Any]] | None]) -> list[dict[str, Any]] | None:
    """Combine a panel's dimensions: each name once, with the mean over its graders. None if there are none."""
    values: dict[str, list[float]] = {}
    for dimension in chain.from_iterable(dimensions or () for dimensions in panel):
        values.setdefault(dimension["name"], []).append(float(dimension["value"]))
    return [{"name": name, "value": fmean(numbers)} for name, numbers in values.items()] or None


def _size(query: ExportQuery) -> Any:
    """Return an expression for the stored size of the columns that a layout reads."""
    if query.layout != "records":
        return WHOLE_SIZE if query.conversational else SIZE
    included = [Coalesce(Length(name), 0) for name in query.included]
    return sum(included, WHOLE_SIZE if query.tools else CONVERSATION_SIZE)


def _with_readable_dimensions(
    sight: ViewerSight, score_rows: list[tuple[Any, ...]]
) -> list[tuple[tuple[Any, ...], Any]]:
    """Pair each row, which ends with DIMENSIONS, with its dimensions; None where the reader may not see them."""
    uuids = {stored_id: UUID(bytes=stored_id) for row in score_rows for stored_id in row[-3:-1]}
    sight.judges.meet({uuids[row[-3]] for row in score_rows if row[-1] is not None})
    return [(row, row[-1] if sight.dimensions_by(uuids[row[-3]], uuids[row[-2]]) else None) for row in score_rows]
