"""Read scores step by step, at a cost that hardly grows with their number.

Counting the scores of each step needs only the primary key's index. Means cover the newest NEWEST scores of a step.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import F, QuerySet

from autotune.core import ids
from scores.querysets import ScoreQuerySet
from scores.states import RunPurpose

NEWEST: Final = 500
Row = tuple[datetime, UUID | None, str | None, int, float | None]


def by_step(scores: ScoreQuerySet, steps: Sequence[tuple[datetime, datetime]]) -> Iterable[Row]:
    """Return the figures of the newest scores that count, and the number of all scores, in one statement.

    Rows are (step, task, model, how many, sum of values), and (step, None, None, how many, None) for all scores.

    steps  (begin, end) of each; ids are in order of time, so these bounds are also bounds of ids
    """
    parts: list[str] = []
    values: list[Any] = []
    for number, (begin, end) in enumerate(steps):
        within = scores.order_by().filter(pk__gte=ids.first_of(begin), pk__lt=ids.first_of(end))
        for sql, params in (_all(within, number), _newest(within, number)):
            parts.append(sql)
            values += params
    if not parts:
        return []
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), values)
        rows = cursor.fetchall()
    return [(steps[number][0], _uuid(task), model, count, total) for number, task, model, count, total in rows]


def _all(within: ScoreQuerySet, number: int) -> tuple[str, Sequence[Any]]:
    sql, params = _compiled(within.values_list("pk"))
    return f"SELECT {number}, NULL, NULL, COUNT(*), NULL FROM ({sql}) AS counted", params  # noqa: S608 - our own text


def _newest(within: ScoreQuerySet, number: int) -> tuple[str, Sequence[Any]]:
    counting = within.live().filter(purpose=RunPurpose.SCORE, superseded=False).order_by("-pk")
    rows = counting.annotate(of_task=F("task_id"), of_model=F("completion__model_id"), given=F("value"))
    sql, params = _compiled(rows.values_list("of_task", "of_model", "given")[:NEWEST])
    figures = f"SELECT {number}, of_task, of_model, COUNT(*), SUM(given)"
    return f"{figures} FROM ({sql}) AS newest GROUP BY of_task, of_model", params


def _compiled(rows: QuerySet) -> tuple[str, Sequence[Any]]:
    return rows.query.get_compiler(connection=connection).as_sql()


def _uuid(value: Any) -> UUID | None:
    """Return the value as a UUID; SQLite returns it as a string of 32 digits."""
    return UUID(value) if isinstance(value, str) else value
