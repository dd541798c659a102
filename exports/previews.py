"""Preview an export before it is created: the number of rows, what is left out and why, and the first rows.

Its cost is bounded, so a form can request it after each change: it examines a limited number of completions, and a
statement that takes longer than WAIT_MS is cancelled. The layout and the encoder that write the file also make these
rows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec
from django.db import OperationalError, connection, transaction
from django.db.models import Count

from autotune.access.principal import Principal
from autotune.core.errors import Invalid, NotFound
from exports import first_rows, layouts, requests
from exports.layouts.preferences import PreferencesLayout
from exports.pairs import selection as pairs_selection
from exports.reading import left_out, prompts
from exports.reading.readers import RewardReader
from exports.requests import ExportQuery
from exports.structure import Layout
from exports.work import asking
from scores.models import Reward
from scores.results import filters
from scores.results.filters import Selection
from tasks.models import Completion

# The most completions examined to count rows: with indexes only, when each is read, when scores are listed, and when
# completions are grouped by prompt.
MOST: Final = 100_000
READ: Final = 20_000
LISTED: Final = 1_000
GROUPED: Final = 10_000
TASKS: Final = 3  # counted if no task is chosen
WAIT_MS: Final = 1_500
UNITS: Final = {"preferences": "pair", "verl": "prompt"}


@dataclass(frozen=True, slots=True)
class RowCount:
    """A number of rows: exact, or a lower bound if `more` is set."""

    value: int
    more: bool = False

    def __str__(self) -> str:
        return f"{'more than ' if self.more else ''}{self.value:,}"


@dataclass(frozen=True, slots=True)
class LeftOutCount:
    """Completions of the selection that make no row, and why."""

    why: str
    amount: RowCount


@dataclass(slots=True)
class ExportPreview:
    """What Autotune knows about an export before it is created.

    unit      what a row is
    rows      None: it took too long to count
    left_out  as far as it can be counted quickly
    sample    the first rows as JSON; very long text is cut
    note      the limits of the number
    """

    unit: str
    rows: RowCount | None = None
    left_out: list[LeftOutCount] = field(default_factory=list)
    sample: list[str] = field(default_factory=list)
    note: str = ""


def build_preview(query: ExportQuery, principal: Principal) -> ExportPreview:
    """Build the preview of a query, for callers who may create the export.

    raises  Invalid or NotFound for the query, with pointers into a body
    """
    selection = _checked(query, principal)
    preview = ExportPreview(UNITS.get(query.layout, "row"))
    with _briefly() as state:
        preview.sample = first_rows.sample(query, selection)
        preview.rows, preview.note = _count(query, selection)
        if not preview.rows.more:
            preview.left_out = _left_out(query, selection, preview.rows)
    if state.late and preview.rows is None:
        preview.note = "Counting took too long. Narrow the selection, or start the export."
    return preview


def _checked(query: ExportQuery, principal: Principal) -> Selection:
    """Check the query and return its selection; errors are those of `asking.check`."""
    requests.check(query, pointer_prefix="/")
    try:
        return filters.check(query, principal)
    except (Invalid, NotFound) as exc:
        raise asking.in_body(exc) from exc


def _count(query: ExportQuery, selection: Selection) -> tuple[RowCount, str]:
    """Return the number of rows, and a note on its limits."""
    plain = msgspec.structs.replace(query, dimensions=False, dimension_columns=False)  # a count needs no dimensions
    layout = layouts.layout(plain, selection)
    reader = cast(first_rows.ReadingLayout, layout).reader
    if query.layout in prompts.LAYOUTS:
        return _by_prompt(layout, cast(RewardReader, reader))
    if isinstance(reader, RewardReader):
        return _rewarded(query, selection, reader)
    heads, last = reader.heads(None, LISTED)
    fitting = [head for head in heads if reader.forms == left_out.ALL or (head.form or b"").decode() in reader.forms]
    return RowCount(len(fitting), last is not None), _partial_count(LISTED) if last else ""


def _rewarded(query: ExportQuery, selection: Selection, reader: RewardReader) -> tuple[RowCount, str]:
    """Count the completions with a reward: up to MOST from the rewards only, else among the first READ completions."""
    is_simple = query.model_id is None and selection.grader is None and selection.grader_version is None
    if is_simple and reader.forms == left_out.ALL:
        readable = Reward.objects.for_readers(selection.sources)
        rewards = selection.scoped(readable.filter(value__isnull=False), "exports")
        rewards = selection.period(selection.bounded_rewards(rewards), "scored_at")
        return _up_to(rewards if query.min_reward is None else rewards.filter(value__gte=query.min_reward)), ""
    rewarded = reader.fitting()
    all_ = selection.scoped(Completion.objects.all(), "exports").order_by("id").values_list("id", flat=True)
    last = all_[READ : READ + 1].first()
    if last is None:
        return _up_to(rewarded), ""
    return RowCount(rewarded.filter(id__lte=last, reward__pk__lte=last).count(), more=True), _partial_count(READ)


def _by_prompt(layout: Layout, reader: RewardReader) -> tuple[RowCount, str]:
    """Count task by task, the first prompts of each, up to GROUPED completions or TASKS tasks."""
    row_count, remaining = 0, GROUPED
    for number, rewarded in enumerate(prompts.of_each_task(reader)):
        if number == TASKS or remaining <= 0:
            return RowCount(row_count, more=True), "Counted only in the first tasks. Choose one task to count all."
        last = prompts.digest_at(rewarded, remaining)
        if last is not None:
            row_count += _grouped(layout, rewarded.filter(prompt_digest__lte=last))
            return RowCount(row_count, more=True), _partial_count(GROUPED)
        row_count += _grouped(layout, rewarded)
        remaining -= 0 if reader.selection.task else rewarded.order_by().count()
    return RowCount(row_count), ""


def _grouped(layout: Layout, rewarded: Any) -> int:
    fitting = left_out.fitting(rewarded, cast(first_rows.ReadingLayout, layout).reader.forms)
    return (
        pairs_selection.count(fitting, layout.choice)
        if isinstance(layout, PreferencesLayout)
        else prompts.distinct(fitting)
    )


def _left_out(query: ExportQuery, selection: Selection, rows: RowCount) -> list[LeftOutCount]:
    """Return why completions of the task and model make no row."""
    completions = selection.scoped(Completion.objects.for_readers(selection.sources), "exports")
    rewards = selection.scoped(Reward.objects.for_readers(selection.sources), "exports").order_by()
    if query.model_id is not None:
        completions = completions.filter(model_id=query.model_id)
        rewards = rewards.filter(completion__model_id=query.model_id)
    total = _up_to(completions)
    if total.more:
        return []
    judged = rewards.values("pk", "value")[: MOST + 1].aggregate(n=Count("*"), passed=Count("value"))
    erased = completions.filter(prompt_digest=None, erased_at__isnull=False, reward__value__isnull=False)
    rewarded = completions.filter(reward__value__isnull=False, erased_at=None)
    unfit = left_out.unfit(rewarded, left_out.carried(query)).order_by().values_list("form")
    reasons = {left_out.REASONS[form]: n for form, n in unfit.annotate(n=Count("pk"))}
    counts = [("not scored yet", total.value - judged["n"]), ("failed: no reward", judged["n"] - judged["passed"])]
    if query.layout not in prompts.LAYOUTS and query.per == "completion":
        outside = judged["passed"] - rows.value - sum(reasons.values())
        counts.append(("outside the bounds, dates or grader", outside))
    counts += [(reason, n) for n, reason in left_out.sentences(reasons, query.layout)]
    counts.append(("rewarded, but the text was erased", _up_to(erased).value))
    return [LeftOutCount(reason, RowCount(number)) for reason, number in counts if number > 0]


def _up_to(queryset: Any) -> RowCount:
    """Count the rows of a queryset, up to MOST."""
    count = queryset.order_by().values("pk")[: MOST + 1].count()
    return RowCount(min(count, MOST), count > MOST)


def _partial_count(completions: int) -> str:
    return f"Counted only in the first {completions:,} completions. The export includes all."


@dataclass(slots=True)
class _State:
    late: bool = False


@contextmanager
def _briefly() -> Iterator[_State]:
    """Open a transaction whose statements may take WAIT_MS each; a slower one ends the block and sets `late`."""
    state = _State()
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("select set_config('statement_timeout', %s, true)", [str(WAIT_MS)])
            yield state
    except OperationalError as exc:
        if "statement timeout" not in str(exc):
            raise
        state.late = True
