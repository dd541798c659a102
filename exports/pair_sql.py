"""The statement that makes pairs of rewarded completions. All of it is the database's work: grouping by prompt,
leaving out answers that say the same, ranking, counting and drawing.

Within a prompt the answers stand in the order of their rewards. One of them beats the first `beaten` of that order:
those that lie lower by the least gap or more. So the pairs of a prompt can be numbered without being made: from the
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

WORK_MEM: Final = "64MB"  # for each sort and hash of the statement; beyond it they go to disk
_MANY: Final = 1 << 40  # more pairs than there are
DRAW_DIGITS: Final = 14  # hexadecimal ones, of a digest: a number that a signed integer of 64 bits holds

_NUMBERED: Final = """
with rewarded (prompt, answer, id, value) as ({source}),
answers as (
    select prompt, id, value
    from (
        select prompt, id, value, row_number() over (partition by prompt, answer order by id desc) as nth from rewarded
    ) as repeated
    where nth = 1
),
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
_PAIRS: Final = """,
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
order by """

Row = tuple[Any, ...]


class Statement:
    """The statement for one source and one choice of pairs.

    source  a queryset of (prompt digest, answer digest, id, reward)
    gap     the least difference of two rewards; above 0
    cap     pairs of a prompt at most, spread evenly over all it has
    seed    draws which of them; None: best against worst is the first of them
    """

    def __init__(self, source: Any, *, gap: float, cap: int, seed: str | None) -> None:
        text, self._params = source.query.get_compiler(connection=connection, elide_empty=False).as_sql()
        shift = "pairs - taken" if seed is None else f"{_number(seed)} %% pairs"
        self._parts = {"source": text, "gap": repr(float(gap)), "cap": str(int(cap)), "shift": shift}

    def count(self) -> int:
        """How many pairs there are."""
        return int(self._fetch(_COUNT)[0][0])

    def whole(self) -> list[Row]:
        """All pairs: (prompt digest, id and reward of the better, id and reward of the worse), in their order."""
        rows = self._fetch(_PAIRS + "made.prompt, made.id, numbered.id", size=str(_MANY), start="0")
        return [row[1:] for row in rows]

    def drawn(self, size: int, seed: str) -> list[Row]:
        """`size` of them, or all there are, spread evenly over the prompts, which stand in an order that `seed` draws.

        Each row is led by how many pairs there are.
        """
        start = str(_first(seed.encode()))
        return self._fetch(_PAIRS + "made.number", drawn=_number(seed), size=str(int(size)), start=start)

    def _fetch(self, end: str, **more: str) -> list[Row]:
        series = "generate_series(1, high - low) as series (value)"
        if connection.vendor != "postgresql":
            series = "json_each(autotune_series(high - low)) as series"
        parts = {**self._parts, "drawn": "0", "series": series, **more}
        with _prepared() as cursor:
            cursor.execute((_NUMBERED + _PROMPTS + end).format(**parts), self._params)
            return cursor.fetchall()


def _number(seed: str) -> str:
    """A number that the seed gives `prompt`, the same on both engines."""
    salt = hashlib.md5(seed.encode(), usedforsecurity=False).hexdigest()
    if connection.vendor == "postgresql":
        digits = f"substr(md5('{salt}' || encode(prompt, 'hex')), 1, {DRAW_DIGITS})"
        return f"('x' || {digits})::bit({4 * DRAW_DIGITS})::bigint"
    return f"autotune_number('{salt}', prompt)"


def _first(text: bytes) -> int:
    return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:DRAW_DIGITS], 16)


@contextmanager
def _prepared() -> Iterator[Any]:
    """A cursor with what the statement needs: settings of PostgreSQL for its transaction, or what SQLite lacks."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            # Compiling it costs seconds. The planner expects few rows behind so many steps, and would sort to merge.
            # The processors are for those who score.
            cursor.execute(
                "select set_config('jit', 'off', true), set_config('enable_mergejoin', 'off', true),"
                " set_config('max_parallel_workers_per_gather', '0', true), set_config('work_mem', %s, true)",
                [WORK_MEM],
            )
            yield cursor
        return
    with connection.cursor() as cursor:  # no transaction: it would keep writers out
        define = connection.connection.create_function
        define("autotune_number", 2, lambda salt, prompt: _first(f"{salt}{prompt.hex()}".encode()), deterministic=True)
        define("autotune_series", 1, lambda last: str(list(range(1, last + 1))), deterministic=True)
        yield cursor
