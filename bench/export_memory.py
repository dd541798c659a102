#!/usr/bin/env python3
"""Peak memory of the web process while it exports: `make bench-export`.

Fills a database of its own (autotune_bench_export, made afresh) with completions of about 3 KB, their runs, scores and
rewards, starts only the web process, with one worker, and reads GET /scores/export as a client that throws the bytes
away. A new process is started for each measurement; its peak is VmHWM. Prints a markdown table.

  export_memory.py --fill ROWS     used by itself, in an environment with the server's settings
"""

import argparse, datetime, os, pathlib, signal, sys, time, urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import common  # noqa: E402
import requests  # noqa: E402

LOCAL_POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"
DATABASE = "autotune_bench_export"
FORMATS = ("jsonl", "parquet", "tfrecord")


def fill(rows):
    """Prints the public id of the task that the rows are of."""
    import django

    django.setup()
    import export_data

    print(export_data.fill(rows, 1_000, 2_000))


class ExportMemory:
    def __init__(self, a):
        from autotune.site.local import databases, launch
        from autotune.site.local.ports import free_port

        self.a, self.launch = a, launch
        self.url = databases.sibling(os.environ.get("DATABASE_URL") or LOCAL_POSTGRES, DATABASE)
        databases.create_afresh(self.url)
        base = {**os.environ, "DATABASE_URL": self.url, "REDIS_URL": "", "LOG_LEVEL": "WARNING", "WEB_WORKERS": "1"}
        base["AUTOTUNE_KEY_RATE_PER_MINUTE"] = "1000000"
        self.env = launch.environment(base, port=free_port(range(8300, 8400)), data=ROOT / "var/bench", grader_ports=[])
        self.env["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
        launch.manage(self.env, "migrate", "--noinput", "--verbosity", "0")
        self.key = launch.bootstrap(self.env, "Bench", "admin@bench.example")["apiKey"]

    def run(self):
        out = [("format", "rows", "MB", "seconds", "rows/s", "peak RSS MiB", "before MiB")]
        peaks = {}
        for rows in self.a.rows:
            task = self.program("--fill", str(rows))
            for kind in FORMATS:
                result = self.export(task, kind, rows)
                peaks[kind, rows] = result["peak"]
                out.append(
                    (kind, f"{rows:,}", f"{result['bytes'] / 1e6:,.0f}", f"{result['seconds']:.1f}",
                     f"{rows / result['seconds']:,.0f}", f"{result['peak']:.0f}", f"{result['before']:.0f}")
                )  # fmt: skip
        print("\n".join("| " + " | ".join(row) + " |" for row in (out[0], ("---",) * len(out[0]), *out[1:])))
        print(datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"), f"cores {os.cpu_count()}")
        small, large = min(self.a.rows), max(self.a.rows)
        kept = True
        for kind in FORMATS:
            peak, growth = peaks[kind, large], peaks[kind, large] - peaks[kind, small]
            fine = peak < 300 and growth <= 20
            kept &= fine
            print(f"{kind}: peak {peak:.0f} MiB (ceiling 300), {growth:+.0f} MiB over {small:,} rows (ceiling 20): "
                  f"{'kept' if fine else 'MISSED'}")  # fmt: skip
        return not kept

    def program(self, *args):
        import subprocess

        done = subprocess.run(
            [sys.executable, str(HERE / "export_memory.py"), *args], env=self.env, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stdout.split()[-1]

    def export(self, task, kind, rows):
        """One export by a web process of its own: its peak, what it had before, bytes and seconds."""
        from autotune.site.local.ports import answers
        from autotune.site.local.supervisor import Supervisor

        with Supervisor(ROOT / "var/bench/logs") as tree:
            web = next(p for p in self.launch.server_processes(self.env) if p.name == "web")
            tree.start(web)
            port = int(self.env["PORT"])
            tree.wait_for(lambda: answers(port, "/api/v1/ready"), "the start of the server", 60)
            headers = {"Authorization": f"Bearer {self.key}"}
            requests.get(
                f"http://127.0.0.1:{port}/api/v1/scores?limit=1", headers=headers, timeout=30
            ).raise_for_status()
            worker = max(pid for pid, (parent, _) in common.all_stats().items() if parent == tree.pids["web"])
            before, started, size = rss(worker, "VmRSS"), time.perf_counter(), 0
            query = urllib.parse.urlencode({"taskId": task, "format": kind})
            with requests.get(
                f"http://127.0.0.1:{port}/api/v1/scores/export?{query}", headers=headers, stream=True, timeout=600
            ) as answer:
                answer.raise_for_status()
                for part in answer.iter_content(1 << 16):
                    size += len(part)
            return {
                "seconds": time.perf_counter() - started, "bytes": size, "before": before, "peak": rss(worker, "VmHWM"),
            }  # fmt: skip


def rss(pid, field):
    """MiB of VmRSS or VmHWM of a process."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith(field))


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    p.add_argument("--fill", type=int, help=argparse.SUPPRESS)
    args = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    raise SystemExit(fill(args.fill) if args.fill else ExportMemory(args).run())
