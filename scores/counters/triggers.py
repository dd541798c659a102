# ruff: noqa: S608 - the statements consist only of constants
"""The database triggers that append tallies in the transaction that changes what counts.

They belong to the tables, not to each capability. So a save, a review, a re-score, a deletion, a purge and a statement
typed by hand all count, and a transaction that is rolled back counts nothing. PostgreSQL runs one trigger per statement
and appends one tally for all of its scores that share model, hour and standing; SQLite runs one trigger per row.

To alter a table on SQLite, Django recreates it. That drops the table's triggers, and fails while a trigger names the
table. So on SQLite the triggers are dropped before migrations and created again afterwards, and tasks are recounted.
"""

from typing import Any, Final

from autotune.core.fixedpoint import LIMB, UNITS_SQL
from scores.states import RunPurpose, ScoreStanding
from tasks.states import TRAINING_SOURCES

FACTS: Final = (  # columns of a score that decide how it counts
    "organization_id", "task_id", "completion_id", "grader_version_id", "value", "purpose", "superseded", "deleted_at",
    "source", "held_out", "created_at",
)  # fmt: skip
_TALLY: Final = (
    "insert into scores_scoretally (organization_id, task_id, model_id, grader_version_id, source, held_out, standing,"
    " hour, sign, units)"
)
_PROGRESS: Final = "insert into scores_tasktally (task_id, completions, rewarded, unrewarded, reward_high, reward_low)"


def _is_counted(row: str) -> str:
    """The progress of a task counts only completions and rewards that figures use (tasks/querysets.py)."""
    sources = ", ".join(f"'{source}'" for source in TRAINING_SOURCES)
    return f"not {row}.held_out and {row}.source in ({sources})"


def _standing(row: str) -> str:
    return (
        f"case when {row}.deleted_at is not null then {ScoreStanding.DELETED:d}"
        f" when {row}.purpose <> '{RunPurpose.SCORE}' or {row}.superseded then {ScoreStanding.LISTED:d}"
        f" else {ScoreStanding.COUNTS:d} end"
    )


def _differs(operator: str, *columns: str) -> str:
    return " or ".join(f"old_.{name} {operator} new_.{name}" for name in columns)


# --- PostgreSQL -------------------------------------------------------------------------------------------------------
def _scores(sign: str, source: str) -> str:
    """Append the tallies of the scores in `source`. The model lookup by primary key does not depend on statistics."""
    return f"""
    {_TALLY}
    select s.organization_id, s.task_id, c.model_id, s.grader_version_id, s.source, s.held_out, {_standing("s")},
        date_trunc('hour', s.created_at, 'UTC'), {sign}, jsonb_agg({UNITS_SQL["postgresql"].format(value="s.value")})
    from {source} s cross join lateral (
        select model_id from tasks_completion where id = s.completion_id offset 0
    ) c
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9"""


_CHANGED = f"""(
        select old_.id from removed old_ join added new_ on new_.id = old_.id
        where {_differs("is distinct from", *FACTS)}
    )"""
_REWARD_UNITS = UNITS_SQL["postgresql"].format(value="value")
_REWARDS = f"""
    {_PROGRESS}
    select task_id, 0, sum(sign * (value is not null)::int), sum(sign * (value is null)::int),
        coalesce(sum(sign * ({_REWARD_UNITS} / {LIMB})), 0), coalesce(sum(sign * ({_REWARD_UNITS} % {LIMB})), 0)
    from ({{source}}) as rewards group by task_id"""
_REWARD_FACTS: Final = ("task_id", "value", "source", "held_out")  # columns of a reward that decide how it counts
_REWARDS_CHANGED = f"""
        select 1 as sign, new_.task_id, new_.value from removed old_ join added new_ using (completion_id)
        where ({_differs("is distinct from", *_REWARD_FACTS)}) and {_is_counted("new_")}
        union all
        select -1, old_.task_id, old_.value from removed old_ join added new_ using (completion_id)
        where ({_differs("is distinct from", *_REWARD_FACTS)}) and {_is_counted("old_")}"""
_COMPLETIONS = f"""
    {_PROGRESS}
    select task_id, {{number}}, 0, 0, 0, 0 from {{source}} as completions
    where {_is_counted("completions")} group by task_id"""

POSTGRES: Final = {  # name: (table, event, transition tables, body)
    "scores_count_added": ("scores_score", "insert", "new table as added", _scores("1", "added")),
    "scores_count_changed": (
        "scores_score",
        "update",
        "old table as removed new table as added",
        f"if exists {_CHANGED} then"
        f"{_scores('-1', f'(select * from removed where id in {_CHANGED})')};"
        f"{_scores('1', f'(select * from added where id in {_CHANGED})')}; end if",
    ),
    "scores_count_removed": ("scores_score", "delete", "old table as removed", _scores("-1", "removed")),
    "scores_reward_added": (
        "scores_reward",
        "insert",
        "new table as added",
        _REWARDS.format(source=f"select 1 as sign, task_id, value from added where {_is_counted('added')}"),
    ),
    "scores_reward_changed": (
        "scores_reward",
        "update",
        "old table as removed new table as added",
        # An upsert that only inserts runs this too.
        f"if exists (select from added) then {_REWARDS.format(source=_REWARDS_CHANGED)}; end if",
    ),
    "scores_reward_removed": (
        "scores_reward",
        "delete",
        "old table as removed",
        _REWARDS.format(source=f"select -1 as sign, task_id, value from removed where {_is_counted('removed')}"),
    ),
    "scores_completion_added": (
        "tasks_completion",
        "insert",
        "new table as added",
        _COMPLETIONS.format(number="count(*)", source="added"),
    ),
    "scores_completion_removed": (
        "tasks_completion",
        "delete",
        "old table as removed",
        _COMPLETIONS.format(number="-count(*)", source="removed"),
    ),
}


# --- SQLite -----------------------------------------------------------------------------------------------------------
def _score(sign: str, row: str) -> str:
    return f"""{_TALLY}
        select {row}.organization_id, {row}.task_id, c.model_id, {row}.grader_version_id, {row}.source,
            {row}.held_out, {_standing(row)}, substr({row}.created_at, 1, 13) || ':00:00', {sign},
            json_array({UNITS_SQL["sqlite"].format(value=f"{row}.value")})
        from tasks_completion c where c.id = {row}.completion_id;"""


def _reward(sign: int, row: str) -> str:
    amount = UNITS_SQL["sqlite"].format(value=f"{row}.value")
    return f"""{_PROGRESS} select {row}.task_id, 0, {sign} * ({row}.value is not null), {sign} * ({row}.value is null),
            {sign} * coalesce({amount} / {LIMB}, 0), {sign} * coalesce({amount} % {LIMB}, 0)
        where {_is_counted(row)};"""


def _completion(sign: int, row: str) -> str:
    return f"{_PROGRESS} select {row}.task_id, {sign}, 0, 0, 0, 0 where {_is_counted(row)};"


def _any_differs(*columns: str) -> str:
    return " or ".join(f"old.{name} is not new.{name}" for name in columns)


SQLITE: Final = {
    "scores_count_added": f"after insert on scores_score begin {_score('1', 'new')} end",
    "scores_count_changed": (
        f"after update of {', '.join(FACTS)} on scores_score when {_any_differs(*FACTS)}"
        f" begin {_score('-1', 'old')} {_score('1', 'new')} end"
    ),
    "scores_count_removed": f"after delete on scores_score begin {_score('-1', 'old')} end",
    "scores_reward_added": f"after insert on scores_reward begin {_reward(1, 'new')} end",
    "scores_reward_changed": (
        f"after update of {', '.join(_REWARD_FACTS)} on scores_reward when {_any_differs(*_REWARD_FACTS)}"
        f" begin {_reward(-1, 'old')} {_reward(1, 'new')} end"
    ),
    "scores_reward_removed": f"after delete on scores_reward begin {_reward(-1, 'old')} end",
    "scores_completion_added": f"after insert on tasks_completion begin {_completion(1, 'new')} end",
    "scores_completion_removed": f"after delete on tasks_completion begin {_completion(-1, 'old')} end",
}


def install(connection: Any) -> None:
    """Create all triggers, and replace those that exist."""
    drop(connection)
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            for name, rule in SQLITE.items():
                cursor.execute(f"create trigger {name} {rule}")
            return
        for name, (table, event, tables, body) in POSTGRES.items():
            cursor.execute(
                f"create or replace function {name}() returns trigger language plpgsql as $count$"
                f" begin {body}; return null; end $count$"
            )
            cursor.execute(
                f"create trigger {name} after {event} on {table} referencing {tables}"
                f" for each statement execute function {name}()"
            )


def drop(connection: Any) -> None:
    """Drop the triggers that exist."""
    with connection.cursor() as cursor:
        for name, (table, *_) in POSTGRES.items():
            if connection.vendor == "postgresql":
                cursor.execute(f"drop trigger if exists {name} on {table}")
            else:
                cursor.execute(f"drop trigger if exists {name}")


def missing(connection: Any) -> set[str]:
    """The names of the triggers that do not exist, or are disabled."""
    query = "select name from sqlite_master where type = 'trigger'"
    if connection.vendor == "postgresql":
        query = "select tgname from pg_trigger where not tgisinternal and tgenabled <> 'D'"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return set(POSTGRES) - {row[0] for row in cursor.fetchall()}
