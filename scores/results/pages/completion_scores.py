"""The scores and runs of a completion as the reader may see them, and how the reward is made from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef

from autotune import charts
from autotune.access.principal import Principal
from scores.models import Reward, Score, WorkflowRun
from scores.results import failure_codes
from scores.results import scores as score_results
from scores.results.names import NamedObject, ObjectNames
from scores.results.privacy import ViewerSight
from scores.results.scores import ScoreOut
from scores.states import FINAL, RunPurpose
from scores.workflow_runs import steps
from scores.workflow_runs.responses import WorkflowRunErrorOut, error_of
from scores.workflow_runs.steps import RunStep
from tasks.models import PanelMember
from tasks.states import Aggregation, PanelPart

SHOWN_RUNS: Final = 60  # of one completion, newest first
MAX_REASONING: Final = 4_000  # characters on the completion's page; the score's own page has all
MAX_BARS: Final = 40  # dimensions that are drawn; the score's page has the rest in its table
BAD_STEPS: Final = frozenset({"lease_expired", "cancelled", "rejected", "expired"})
GOOD_STEPS: Final = frozenset({"claimed", "scored", "approved", "accepted", "copied"})
SENTENCES: Final[Mapping[str, str]] = {
    Aggregation.MEAN: "the mean of the scores, each with its weight",
    Aggregation.CONFIDENCE_WEIGHTED: "the mean of the scores, each with its weight times its confidence",
    Aggregation.MEDIAN: "the value at which half of the weight is reached",
    Aggregation.MIN: "the lowest score",
    Aggregation.MAX: "the highest score",
    Aggregation.ALL_OR_NOTHING: "1 if every score is 1, else 0; nothing while a score is missing",
}


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """A step of a run with its colour and its duration."""

    step: RunStep
    tone: str
    milliseconds: float | None


@dataclass(slots=True)
class GraderResult:
    """The result of one grader: its run (None if the reader may not see it), and its score, or why there is none.

    weight    of the grader in the panel; None if the reader may not see the task, or it is no longer in the panel
    share     of the reward that this score makes up; None where the aggregation has no shares
    hidden    why there is no reasoning: a sentence
    """

    grader: NamedObject
    version: str
    run: WorkflowRun | None
    score: Score | None
    out: ScoreOut | None
    error: WorkflowRunErrorOut | None
    purpose: str
    weight: float | None
    share: float | None
    reasoning: str
    cut: int
    hidden: str
    dimensions: charts.Chart | None
    steps: list[TimelineStep]

    @property
    def is_scoring(self) -> bool:
        return self.purpose == RunPurpose.SCORE

    @property
    def superseded(self) -> bool:
        return self.score is not None and self.score.superseded

    @property
    def counts(self) -> bool:
        return self.score is not None and self.is_scoring and not self.superseded

    @property
    def unfinished(self) -> bool:
        return self.run is not None and self.run.status not in FINAL

    @property
    def key(self) -> UUID:
        """The id of the row on the page."""
        return self.run.pk if self.run is not None else self.score.pk  # type: ignore[union-attr]  # one of them is there


@dataclass(frozen=True, slots=True)
class CompletionScores:
    """The scores and runs of a completion. `more`: runs left out. `sentence`: how the reward is made, '' if hidden."""

    verdicts: list[GraderResult]
    earlier: list[GraderResult]
    more: int
    sentence: str
    error_advice: str

    @property
    def unfinished(self) -> int:
        return sum(verdict.unfinished for verdict in self.verdicts)


def visible_runs(principal: Principal, completion_id: UUID) -> tuple[list[WorkflowRun], list[WorkflowRun]]:
    """Return (all runs of a completion, those of them that the principal may see); one query."""
    visible = WorkflowRun.objects.visible_to(principal).filter(pk=OuterRef("pk"))
    all_runs = WorkflowRun.objects.filter(completion_id=completion_id).annotate(seen=Exists(visible))
    runs: list[Any] = list(all_runs.order_by("id"))
    return runs, [run for run in runs if run.seen]


def account(
    principal: Principal,
    completion_id: UUID,
    runs: Sequence[WorkflowRun],
    reward: Reward | None,
    members: Sequence[PanelMember],
) -> tuple[CompletionScores, ObjectNames]:
    """Return the scores and runs of a completion, and the names of its graders; four queries.

    runs     those that the reader may see
    reward   None where there is none, or the reader may not have it
    members  of the panel for which it was submitted; none where the reader may not see the task
    """
    visible_scores = Score.objects.live().visible_to(principal).defer("details")
    scores = list(visible_scores.filter(completion_id=completion_id).order_by("id"))
    sight = ViewerSight.of(principal)
    sight.judges.meet({run.grader_id for run in runs} | {score.grader_id for score in scores})
    outs = dict(zip((score.pk for score in scores), score_results.shapes(scores, sight), strict=True))
    panel = {member.grader_id: member for member in members}
    graders = {run.grader_id for run in runs} | {score.grader_id for score in scores} | panel.keys()
    names = ObjectNames.of(principal, graders=graders, versions=(score.grader_version_id for score in scores))
    view = _View(principal, sight, names, panel, outs, _shares(scores, panel, reward))
    pairs = _pairs(runs, scores)
    current, earlier = _split_verdicts([view.verdict(run, score) for run, score in pairs[-SHOWN_RUNS:]], _newest(runs))
    sentence = SENTENCES.get(reward.aggregation, "") if reward is not None and members else ""
    advice = failure_codes.advice(reward.error_code) if reward is not None and reward.error_code else ""
    return CompletionScores(current, earlier, max(0, len(pairs) - SHOWN_RUNS), sentence, advice), names


def _pairs(runs: Sequence[WorkflowRun], scores: Sequence[Score]) -> list[tuple[WorkflowRun | None, Score | None]]:
    """Each run with its score, and the scores whose runs the reader may not see."""
    of_run = {score.run_id: score for score in scores}
    visible_run_ids = {run.pk for run in runs}
    pairs: list[tuple[WorkflowRun | None, Score | None]] = [(run, of_run.get(run.pk)) for run in runs]
    return [*pairs, *((None, score) for score in scores if score.run_id not in visible_run_ids)]


def _split_verdicts(verdicts: list[GraderResult], newest: set[UUID]) -> tuple[list[GraderResult], list[GraderResult]]:
    """Split the verdicts into current ones, which count or are unfinished, and earlier ones; both in order."""
    current: list[GraderResult] = []
    earlier: list[GraderResult] = []
    for verdict in sorted(verdicts, key=_order):
        is_earlier = verdict.run is not None and verdict.run.pk not in newest and not verdict.counts
        (earlier if is_earlier else current).append(verdict)
    return current, earlier


@dataclass(frozen=True, slots=True)
class _View:
    """The data from which the rows are made."""

    principal: Principal
    sight: ViewerSight
    names: ObjectNames
    members: Mapping[UUID, PanelMember]
    outs: Mapping[UUID, ScoreOut]
    shares: Mapping[UUID, float]

    def verdict(self, run: WorkflowRun | None, score: Score | None) -> GraderResult:
        grader_id = run.grader_id if run is not None else score.grader_id  # type: ignore[union-attr]  # one is there
        out = self.outs.get(score.pk) if score is not None else None
        member = self.members.get(grader_id)
        text = (out.reasoning or "") if out else ""
        purpose = score.purpose if score is not None else run.purpose  # type: ignore[union-attr]
        return GraderResult(
            grader=self.names.grader(grader_id),
            version=self.names.version(score.grader_version_id) if score is not None else "",
            run=run,
            score=score,
            out=out,
            error=error_of(run, self.sight) if run is not None else None,
            purpose=purpose,
            weight=member.weight if member and member.part == PanelPart.SCORING else None,
            share=self.shares.get(score.pk) if score is not None else None,
            reasoning=text[:MAX_REASONING],
            cut=max(0, len(text) - MAX_REASONING),
            hidden=hidden(out, self.sight, own=self.names.owners.get(grader_id) == self.principal.organization.pk),
            dimensions=bars(out),
            steps=timeline(steps.of(run)) if run is not None else [],
        )


def hidden(out: ScoreOut | None, sight: ViewerSight, *, own: bool) -> str:
    """Return why a score shows no reasoning, without revealing whether another organization's grader redacts it."""
    if out is None or out.reasoning:
        return ""
    if out.unreadable:
        return "The reasoning is stored but cannot be read."
    if sight.reader.reasoning is None:
        return "Your role can read the numbers but not the reasoning."
    return "The grader gave no reasoning." if own else "No reasoning: the grader gave none, or does not share it."


def bars(out: ScoreOut | None) -> charts.Chart | None:
    """Return the chart of a score's dimensions with their weights; None if the reader may see none."""
    if out is None or not out.dimensions:
        return None
    rows = [_bar(dimension) for dimension in out.dimensions[:MAX_BARS]]
    return charts.bars("Dimensions", rows)


def _bar(dimension: object) -> charts.Bar:
    """A dimension, which a model's JSON column holds as a mapping."""
    name, value, weight = (
        (dimension["name"], dimension["value"], dimension["weight"]) if isinstance(dimension, dict)
        else (dimension.name, dimension.value, dimension.weight)  # type: ignore[attr-defined]
    )  # fmt: skip
    note = "" if weight is None else f"weight {weight:g}"
    return charts.Bar(name, value, note=note, total=1.0)


def timeline(run_steps: Iterable[RunStep]) -> list[TimelineStep]:
    return [TimelineStep(step, _tone(step), _took(step.started_at, step.ended_at)) for step in run_steps]


def _tone(step: RunStep) -> str:
    if step.outcome is None:
        return "busy"
    if step.outcome in GOOD_STEPS:
        return "good"
    if step.outcome in BAD_STEPS or step.outcome in failure_codes.CODES:
        return "bad"
    return "neutral"


def _took(started: datetime | None, ended: datetime | None) -> float | None:
    if started is None or ended is None or ended < started:
        return None
    return (ended - started).total_seconds() * 1000


def _shares(scores: Sequence[Score], members: Mapping[UUID, PanelMember], reward: Reward | None) -> dict[UUID, float]:
    """The share of each counted score in the reward, if that is a mean."""
    if reward is None or reward.value is None or not members:
        return {}
    if reward.aggregation not in (Aggregation.MEAN, Aggregation.CONFIDENCE_WEIGHTED):
        return {}
    counted = [score for score in scores if score.is_scoring and not score.superseded]
    weights = {score.pk: members[score.grader_id].weight if score.grader_id in members else 0.0 for score in counted}
    exact = {pk: Fraction(weight) for pk, weight in weights.items()}  # as in rewards.py: products may be very small
    if reward.aggregation == Aggregation.CONFIDENCE_WEIGHTED:
        confident = {score.pk: exact[score.pk] * Fraction(score.confidence) for score in counted}
        exact = confident if any(confident.values()) else exact
    total = sum(exact.values())
    if not total:
        return {pk: 1 / len(weights) for pk in weights}
    return {pk: float(weight / total) for pk, weight in exact.items()}


def _newest(runs: Sequence[WorkflowRun]) -> set[UUID]:
    """The newest run of each grader."""
    return set({run.grader_id: run.pk for run in sorted(runs, key=lambda run: (run.generation, run.pk))}.values())


def _order(verdict: GraderResult) -> tuple[bool, bool, int, UUID]:
    """Scores before those of other purposes, what counts before what was replaced, newest first."""
    generation = verdict.run.generation if verdict.run is not None else 0
    return not verdict.is_scoring, verdict.superseded, -generation, verdict.key
