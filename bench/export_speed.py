#!/usr/bin/env python3
"""A million scored rows as training data, and what else could have read them: `make bench-export`.

Fills a database of its own (autotune_bench_speed, made afresh; --keep uses what is there) with completions of 1.6 KB,
encrypted, eight to a prompt, their runs, scores and rewards. Each way is a process of its own that writes a file. Its
time begins when its modules are loaded, as a worker's are; its CPU and peak are those of the whole process. psql and
pandas read the same rows and do not decrypt them, so their files are of no use to a trainer: they are the limits to
compare with. Prints a markdown table.

  export_speed.py --way WAY ROWS     used by itself, in an environment with the server's settings
"""

import argparse, datetime, json, os, pathlib, resource, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

LOCAL_POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"
DATABASE = "autotune_bench_speed"
OUT = ROOT / "var/bench/export"
PROMPT_BYTES, RESPONSE_BYTES = 600, 1_000
FLOORS = {"parquet": 40_000, "jsonl": 15_000}  # rows a second
CEILING_MIB = 300
OURS = ("parquet", "jsonl", "jsonl.gzip", "jsonl.zstd", "tfrecord")
SELECT = """
    select c.id::text, c.task_id::text, c.model_id, c.prompt, c.response, r.value, r.confidence, r.scored_at,
           s.grader_id::text, s.grader_version_id::text
    from scores_reward r join tasks_completion c on c.id = r.completion_id join scores_score s on s.completion_id = c.id
    where r.value is not null order by r.completion_id limit {rows}
"""


# Each way loads what it needs and gives a function of the number of rows, which returns how many it wrote, of how many
# bytes.


def ours(name):
    """One export as a job writes it: from the layout's batches to a file."""
    import django

    django.setup()
    from autotune.access.models import ApiKey
    from autotune.access.principal import Principal
    from autotune.core import garbage
    from exports import formats, layouts
    from exports.metadata import ExportFacts
    from exports.requests import ExportQuery
    from scores.results import filters

    key = ApiKey.objects.select_related("organization", "role", "user").first()
    kind, _, compression = name.partition(".")
    if kind == "parquet":
        import pyarrow.parquet  # noqa: F401 - the encoder would on first use
    query = ExportQuery(format=kind, compression=compression or None)
    facts = ExportFacts()
    layout = layouts.layout(query, filters.check(query, Principal(key.organization, key.role, key.user)))
    encoder = formats.encoder(query, layout.columns, facts)
    garbage.settle()  # as each process of the Procfile does

    def run(_rows):
        with open(OUT / f"rows.{encoder.extension}", "wb") as file:
            for piece in encoder.encode(layout.batches()):
                file.write(piece)
            return facts.rows, file.tell()

    return run


def psql(_name):
    """The limit of the database: its own binary form, nothing decrypted."""

    def run(rows):
        path = OUT / "rows.copy"
        copy = f"\\copy ({' '.join(SELECT.format(rows=rows).split())}) to '{path}' (format binary)"
        subprocess.run(["psql", os.environ["DATABASE_URL"], "-qc", copy], check=True)
        return rows, path.stat().st_size

    return run


def pandas(_name):
    """What a notebook would do, nothing decrypted."""
    import warnings

    import pandas as pd
    import psycopg
    import pyarrow.parquet  # noqa: F401 - as above

    warnings.simplefilter("ignore")  # it would rather have SQLAlchemy

    def run(rows):
        path = OUT / "rows.pandas.parquet"
        with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
            frame = pd.read_sql(SELECT.format(rows=rows), connection)
        frame.to_parquet(path, compression="zstd")
        return len(frame), path.stat().st_size

    return run


def way(name, rows):
    """Measure one way in this process; prints one line of JSON."""
    run = {"psql": psql, "pandas": pandas}.get(name, ours)(name)
    started = time.perf_counter()
    done, size = run(rows)
    seconds = time.perf_counter() - started
    mine, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                "rows": done, "bytes": size, "seconds": seconds,
                "cpu": mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime,
                "peak": (children.ru_maxrss if name == "psql" else mine.ru_maxrss) / 1024,
            }
        )
    )  # fmt: skip


class ExportSpeed:
    def __init__(self, a):
        from autotune.site.local import databases, launch

        self.a = a
        url = databases.sibling(os.environ.get("DATABASE_URL") or LOCAL_POSTGRES, DATABASE)
        is_new = databases.create_if_missing(url)
        if not a.keep and not is_new:
            databases.create_afresh(url)
        base = {**os.environ, "DATABASE_URL": url, "REDIS_URL": "", "LOG_LEVEL": "WARNING"}
        self.env = launch.environment(base, port=8398, data=ROOT / "var/bench", grader_ports=[])
        self.env["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
        OUT.mkdir(parents=True, exist_ok=True)
        if is_new or not a.keep:
            launch.manage(self.env, "migrate", "--noinput", "--verbosity", "0")
            launch.bootstrap(self.env, "Bench", "admin@bench.example")
            self.program("--fill", str(a.rows))

    def run(self):
        out = [("way", "rows", "seconds", "rows/s", "CPU us/row", "peak RSS MiB", "MB")]
        kept = True
        for name in self.a.ways:
            rows = min(self.a.rows, self.a.pandas_rows) if name == "pandas" else self.a.rows
            done = json.loads(self.program("--way", name, str(rows)))
            rate = done["rows"] / done["seconds"]
            out.append(
                (name, f"{done['rows']:,}", f"{done['seconds']:.1f}", f"{rate:,.0f}",
                 f"{done['cpu'] / done['rows'] * 1e6:.1f}", f"{done['peak']:,.0f}", f"{done['bytes'] / 1e6:,.0f}")
            )  # fmt: skip
            if name in OURS:
                kept &= rate >= FLOORS.get(name, 0) and done["peak"] <= CEILING_MIB
        print("\n".join("| " + " | ".join(row) + " |" for row in (out[0], ("---",) * len(out[0]), *out[1:])))
        print(datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"), f"cores {os.cpu_count()},",
              f"load {os.getloadavg()[1]:.1f} (5 minutes)")  # fmt: skip
        print(f"floors {FLOORS} rows/s, ceiling {CEILING_MIB} MiB: {'kept' if kept else 'MISSED'}")
        return not kept

    def program(self, *args):
        done = subprocess.run(
            [sys.executable, str(HERE / "export_speed.py"), *args], env=self.env, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stdout.splitlines()[-1]


def fill(rows):
    import django

    django.setup()
    import export_data

    print(export_data.fill(rows, PROMPT_BYTES, RESPONSE_BYTES))


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--pandas-rows", type=int, default=200_000, help="pandas needs some 7 KB of memory a row")
    p.add_argument("--ways", nargs="+", default=["psql", *OURS, "pandas"], choices=["psql", *OURS, "pandas"])
    p.add_argument("--keep", action="store_true", help="use the rows of the last time")
    p.add_argument("--fill", type=int, help=argparse.SUPPRESS)
    p.add_argument("--way", nargs=2, help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.fill:
        raise SystemExit(fill(args.fill))
    raise SystemExit(way(args.way[0], int(args.way[1])) if args.way else ExportSpeed(args).run())
