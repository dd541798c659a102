"""Build the SQL statement that makes pairs of rewarded completions. The database does all the work: it groups by
prompt, drops equal answers, ranks, counts and draws.

Within a prompt the answers are sorted by reward. Each answer beats the first `beaten` of that order:
those whose reward is lower by at least the gap. So the pairs of a prompt can be numbered before they are made: from the
best answer downwards, and for each from the worst that it beats upwards; number 0 is best against worst. To take m of
W numbers evenly is arithmetic on whole numbers (`(number * m + shift) / W` rises by one at each that is taken), and so
is to draw n of the T pairs that all prompts have together. Only the pairs that are taken are made, so the cost is that
of sorting the rewards, however many pairs there would be.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connection, transaction

WORK_MEM: Final = "64MB"  # for each sort and hash of the statement, which use the disk beyond this
DRAW_DIGITS: Final = 14  # hexadecimal digits of a digest, few enough for a signed integer of 64 bits

_ANSWERS: Final = """
with rewarded (prompt, answer, id, value) as ({source}),
answers as (
    select prompt, id, value
    from (
        select prompt, id, value, row_number() over (partition by prompt, answer order by id desc) as nth from rewarded
    ) as repeated
    where nth = 1
)"""
# Pair number 0 of each prompt needs no numbering: it is the last answer of the order against the first.
_EXTREMES: Final = """,
extremes as (
    select prompt, best, best_value, worst, worst_value
    from (
        select prompt, id as best, value as best_value, first_value(id) over places as worst,
            first_value(value) over places as worst_value, lead(1) over places as better
        from answers
        window places as (partition by prompt order by value, id)
    ) as placed
    where better is null and worst_value <= best_value - {gap}
)"""
_EXTREMES_COUNT: Final = "select count(*) from extremes"
_EXTREMES_WHOLE: Final = "select * from extremes order by prompt"
_NUMBERED: Final = """,
numbered as (
    select prompt, id, value, beaten, row_number() over (partition by prompt order by value, id) as place,
        cast(sum(beaten) over (partition by prompt) as bigint) as pairs,
        cast(sum(beaten) over (partition by prompt order by value, id rows unbounded preceding) as bigint) as behind
    from (
        select prompt, id, value, count(*) over (
            partition by prompt order by value range between unbounded preceding and {gap} preceding
        ) as beaten
        from answers
    ) as beating
)"""
_PROMPTS: Final = """,
prompts as (
    select prompt, taken, shift, cast(sum(taken) over (order by drawn, prompt) as bigint) - taken as ahead,
        cast(sum(taken) over () as bigint) as available
    from (
        select prompt, taken, {shift} as shift, {drawn} as drawn
        from (
            select prompt, pairs, case when pairs < {cap} then pairs else {cap} end as taken
            from numbered where place = 1 and pairs > 0
        ) as limited
    ) as shifted
)"""
_COUNT: Final = "select coalesce(max(available), 0) from prompts"
# Returning all pairs needs only the numbers within a prompt, which each row has by itself.
_WHOLE: Final = """,
bounded as (
    select prompt, id, value, pairs, before, taken, shift,
        (before * taken + shift) / pairs as low, ((before + beaten) * taken + shift) / pairs as high
    from (
        select limited.*, {shift} as shift
        from (
            select numbered.*, pairs - behind as before, case when pairs < {cap} then pairs else {cap} end as taken
            from numbered where beaten > 0
        ) as limited
    ) as shifted
),
made as (
    select bounded.prompt, bounded.id, bounded.value,
        ((low + series.value) * pairs - shift + taken - 1) / taken - before as place
    from bounded, {series} where low < high
)
select made.prompt, made.id, made.value, numbered.id, numbered.value
from made join numbered on numbered.prompt = made.prompt and numbered.place = made.place
order by made.prompt, made.id, numbered.id"""
_DRAWN: Final = """,
wanted as (
    select prompts.*, case when available < {size} then available else {size} end as size,
        {start} %% available as start
    from prompts
),
bounded as (
    select numbered.*, pairs - behind as before, taken, shift, ahead, available, size, start,
        ((ahead + ((pairs - behind) * taken + shift) / pairs) * size + start) / available as low,
        ((ahead + ((pairs - behind + beaten) * taken + shift) / pairs) * size + start) / available as high
    from numbered join wanted on wanted.prompt = numbered.prompt
    where beaten > 0
),
chosen as (
    select bounded.*, ((low + series.value) * available - start + size - 1) / size - 1 as number
    from bounded, {series} where low < high
),
made as (
    select prompt, id, value, available, number,
        ((number - ahead + 1) * pairs - shift + taken - 1) / taken - before as place
    from chosen
)
select made.available, made.prompt, made.id, made.value, numbered.id, numbered.value
from made join numbered on numbered.prompt = made.prompt and numbered.place = made.place
order by made.number"""

Row = tuple[Any, ...]


class PairStatement:
    """The statement for one source and one choice of pairs.

    source  a queryset of (prompt digest, answer digest, id, reward)
    gap     the least difference of two rewards; above 0
    cap     most pairs of a prompt, spread evenly over all it has
    seed    draws which of them; None: starts with best against worst
    """

    def __init__(self, source: Any, *, gap: float, cap: int, seed: str | None) -> None:
        text, self._params = source.query.get_compiler(connection=connection, elide_empty=False).as_sql()
        shift = "pairs - taken" if seed is None else f"{_number(seed)} %% pairs"
        self._extremes = cap == 1 and seed is None
        self._parts = {"source": text, "gap": repr(float(gap)), "cap": str(int(cap)), "shift": shift}

    def count(self) -> int:
        """Count the pairs."""
        end = _EXTREMES + _EXTREMES_COUNT if self._extremes else _NUMBERED + _PROMPTS + _COUNT
        ((count,),) = self._fetch(end)
        return int(count)

    def whole(self) -> Iterator[Row]:
        """Yield all pairs: (prompt digest, id and reward of the better, id and reward of the worse), in their order."""
        return self._fetch(_EXTREMES + _EXTREMES_WHOLE if self._extremes else _NUMBERED + _WHOLE)

    def drawn(self, size: int, seed: str) -> Iterator[Row]:
        """Yield up to `size` pairs, spread evenly over the prompts, whose order `seed` draws.

        Each row starts with the total number of pairs.
        """
        start = str(_first(seed.encode()))
        return self._fetch(_NUMBERED + _PROMPTS + _DRAWN, drawn=_number(seed), size=str(int(size)), start=start)

    def _fetch(self, end: str, **more: str) -> Iterator[Row]:
        """Yield one row at a time: as Python objects, rows take several times the memory that the database sent."""
        series = "generate_series(1, high - low) as series (value)"
        if connection.vendor != "postgresql":
            series = "json_each(autotune_series(high - low)) as series"
        parts = {**self._parts, "drawn": "0", "series": series, **more}
        with _prepared() as cursor:
            cursor.execute((_ANSWERS + end).format(**parts), self._params)
            yield from cursor


def _number(seed: str) -> str:
    """Return SQL for a number that depends on the seed and `prompt`, the same on both engines."""
    salt = hashlib.md5(seed.encode(), usedforsecurity=False).hexdigest()
    if connection.vendor == "postgresql":
        digits = f"substr(md5('{salt}' || encode(prompt, 'hex')), 1, {DRAW_DIGITS})"
        return f"('x' || {digits})::bit({4 * DRAW_DIGITS})::bigint"
    return f"autotune_number('{salt}', prompt)"


def _first(text: bytes) -> int:
    return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:DRAW_DIGITS], 16)


@contextmanager
def _prepared() -> Iterator[Any]:
    """Open a cursor with the settings that PostgreSQL needs for the transaction, or the functions that SQLite lacks."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            # JIT compilation takes seconds. After so many steps the planner expects few rows and would merge.
            # No parallel workers: scoring needs the processors.
            cursor.execute(
                "select set_config('jit', 'off', true), set_config('enable_mergejoin', 'off', true),"
                " set_config('max_parallel_workers_per_gather', '0', true), set_config('work_mem', %s, true)",
                [WORK_MEM],
            )
            yield cursor
        return
    with connection.cursor() as cursor:  # no transaction, since it would block writers
        define = connection.connection.create_function
        define("autotune_number", 2, lambda salt, prompt: _first(f"{salt}{prompt.hex()}".encode()), deterministic=True)
        define("autotune_series", 1, lambda last: str(list(range(1, last + 1))), deterministic=True)
        yield cursor
