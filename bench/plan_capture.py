"""Takes the plan of every statement that code executes, with its real parameters, and judges it: for plans.py.

Each statement is first run under EXPLAIN ANALYZE inside a savepoint that is rolled back, and then as it was meant to be.
Django's driver puts parameters into the text, so the planner always knows them (`custom`). Statements that are written by
hand are also taken with a generic plan, as a driver that prepares them would have it; those of the ORM cannot be: they name
states by parameters, and no partial index serves a state that is not known yet. So the driver must prepare nothing, which
plans.py checks.
"""

import re
from contextlib import contextmanager
from dataclasses import dataclass, field

PLANNED = re.compile(r"^\s*(select|insert|update|delete|with)\b", re.I)
NAMED = re.compile(r"%\((\w+)\)s")
MANY = re.compile(r"%s(\s*,\s*%s)+")
GROWN = 10_000  # rows: with fewer, a table is read in a millisecond whatever the plan
MOST_ROWS = 20_000  # that a node may look at; the largest group of the sweep is 2,000
EACH = 1  # executions of one statement in one path whose plan is taken, and every one that has more parameters


@dataclass
class Node:
    """One node of a plan with what it did, over all its loops."""

    kind: str
    table: str
    index: str
    rows: int
    looked_at: int

    @property
    def name(self):
        return " ".join(filter(None, (self.kind, self.table and f"on {self.table}", self.index and f"by {self.index}")))


@dataclass
class Plan:
    """One execution of a statement."""

    path: str
    state: str
    mode: str
    statement: str
    nodes: list
    ms: float
    most: int = MOST_ROWS

    def faults(self, grown):
        """The nodes that are wrong. `grown`: the tables that grow with the history, and do hold much."""
        for node in self.nodes:
            if node.kind == "Seq Scan" and node.table in grown and self.most == MOST_ROWS:
                yield node
            elif node.looked_at > self.most:
                yield node


def nodes_of(plan, loops=1):
    """The nodes of EXPLAIN's JSON."""
    loops = plan.get("Actual Loops", 0)
    removed = sum(value for name, value in plan.items() if name.startswith("Rows Removed by"))
    yield Node(
        plan["Node Type"],
        plan.get("Relation Name", ""),
        plan.get("Index Name", ""),
        int(plan.get("Actual Rows", 0) * loops),
        int((plan.get("Actual Rows", 0) + removed) * loops),
    )
    for below in plan.get("Plans", ()):
        yield from nodes_of(below)


@dataclass
class Capture:
    """An execute wrapper of Django that takes plans while `path` is set."""

    state: str = ""
    path: str = ""
    most: int = MOST_ROWS
    plans: list = field(default_factory=list)
    seen: dict = field(default_factory=dict)

    def __call__(self, execute, sql, params, many, context):
        sql = sql if isinstance(sql, str) else str(sql)
        if self.path and PLANNED.match(sql) and "pg_" not in sql:
            rows = list(params) if many else [params]
            if rows:
                self._take(context["connection"].connection, sql, rows[0] or ())
        return execute(sql, params, many, context)

    @contextmanager
    def aside(self):
        """What is executed here is the bench's own."""
        path, self.path = self.path, ""
        try:
            yield
        finally:
            self.path = path

    def _take(self, raw, sql, params):
        sql, params = positional(sql, params)
        statement = " ".join(MANY.sub("%s, …", sql).split())
        size = sum(len(value) if isinstance(value, (list, tuple)) else 1 for value in params)
        times, largest = self.seen.get((self.state, self.path, statement), (0, 0))
        self.seen[self.state, self.path, statement] = times + 1, max(largest, size)
        if times >= EACH and size <= largest:
            return
        for mode in ("custom", "generic") if '"' not in sql else ("custom",):
            explained = self._explain(raw, sql, params, mode)
            nodes = list(nodes_of(explained["Plan"]))
            self.plans.append(
                Plan(self.path, self.state, mode, statement, nodes, explained["Execution Time"], self.most)
            )

    def _explain(self, raw, sql, params, mode):
        """EXPLAIN's JSON."""
        generic, prepared = mode == "generic" and bool(params), False
        try:
            with raw.transaction(force_rollback=True), raw.cursor() as cursor:
                if generic:
                    cursor.execute("set local plan_cache_mode = force_generic_plan")
                    cursor.execute(f"prepare taken as {numbered(sql)}")
                    prepared = True
                    sql = f"execute taken({', '.join(['%s'] * len(params))})"
                cursor.execute(f"explain (analyze, format json, timing off) {sql}", params or None)
                return cursor.fetchone()[0][0]
        finally:
            if prepared:
                with raw.cursor() as cursor:
                    cursor.execute("deallocate taken")  # PREPARE outlives the rollback


def positional(sql, params):
    """A statement with its parameters in their order, also where it names them."""
    if not isinstance(params, dict):
        return sql, params
    return NAMED.sub("%s", sql), [params[name] for name in NAMED.findall(sql)]


def numbered(sql):
    """`%s` as `$1`, `$2`, …; `%%` as `%`."""
    count = 0

    def place(match):
        nonlocal count
        if match[0] == "%%":
            return "%"
        count += 1
        return f"${count}"

    return re.sub(r"%%|%s", place, sql)


def prepared(connection):
    """How many statements the driver has prepared in this session."""
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_prepared_statements")
        return cursor.fetchone()[0]


def grown_tables(connection):
    """The tables of the product that hold GROWN rows by now, by their statistics or, in the idle state, their size."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select relname from pg_class join pg_stat_user_tables using (relname) "
            "where relkind = 'r' and greatest(reltuples, n_live_tup) >= %s",
            [GROWN],
        )
        return {name for (name,) in cursor.fetchall()}
