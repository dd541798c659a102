"""Pairs from 5,276 scored answers, exported for TRL, and a DPO run on them.

  make example-dpo GSM8K_FILE=…/gsm8k_model_solutions.jsonl

Starts the server (SQLite, or PostgreSQL + Redis with DATABASE_URL and REDIS_URL) and the GSM8K grader, has all answers
scored, exports them in the layouts that TRL's trainers take, and trains on the files. Exit status 1 unless the loss
falls and every trainer takes its file.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from autotune_sdk import AutotuneClient, AutotuneError

from autotune.site.local.console import table
from autotune.site.local.supervisor import SupervisorError
from examples import local
from examples.gsm8k import run as gsm8k
from examples.gsm8k.data import Answer, NoData, load
from examples.training import trainer
from examples.training.chart import Line, smooth, svg

STEPS = 160
TIMEOUT_S = 900.0
EDGE = 10  # steps at either end whose mean loss is compared
SMOOTH = 10
LEAST_FALL = 0.1
# A right answer is worth 1 and a wrong one 0, so each pair is of a right and a wrong one.
FILES = {
    "preferences.parquet": {"format": "parquet", "layout": "preferences", "min_score_delta": 0.5},
    "preferences.jsonl": {"format": "jsonl", "layout": "preferences", "min_score_delta": 0.5},
    "conversations.parquet": {
        "format": "parquet",
        "layout": "preferences",
        "min_score_delta": 0.5,
        "conversational": True,
    },
    "kto.parquet": {"format": "parquet", "layout": "kto", "threshold": 0.5},
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", type=Path, required=True, help="of the training environment")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--plot", type=Path, help="where the plot goes; default: beside the run's other files")
    arguments = parser.parse_args()
    try:
        return run(load(os.environ.get("GSM8K_FILE", "")), arguments.python.absolute(), arguments.steps, arguments.plot)
    except (NoData, SupervisorError, AutotuneError) as exc:
        print(exc, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(answers: list[Answer], python: Path, steps: int, plot: Path | None) -> int:
    """Start everything, score, export, train, compare; the exit status."""
    with local.server("trl-dpo", organization="DPO example") as server:
        judged = local.judged_task(server, "gsm8k", gsm8k.GRADER)
        gsm8k.wait(server.client, server.tree, gsm8k.submit(server.client, judged.task_id, answers))
        export(server.client, judged.task_id, server.folder)
        began = time.monotonic()
        trainer.train(
            server, python, "examples.trl_dpo.train", str(server.folder), "--steps", str(steps),
            env={}, timeout_s=TIMEOUT_S,
        )  # fmt: skip
        print(f"trained in {time.monotonic() - began:.0f} s; scored and exported on {server.database}")
        return compare(server.folder, plot or server.folder / "loss.svg")


def export(client: AutotuneClient, task_id: str, folder: Path) -> None:
    """Write each file again."""
    for name, options in FILES.items():
        path = folder / name
        path.unlink(missing_ok=True)
        written = client.scores.export(path, task_id=task_id, **options)  # type: ignore[arg-type]
        print(f"{name}: {written.bytes:,} bytes")


def compare(folder: Path, plot: Path) -> int:
    """Draw the loss, print what came of the pairs; the exit status."""
    losses = trainer.history(folder / "history.jsonl", "loss")
    draw(losses, plot)
    results = trainer.read(folder / "results.json")["dpo"]
    rows = [
        (name, f"{results[name]['eval_loss']:.3f}", f"{results[name]['eval_rewards/accuracies']:.3f}")
        for name in ("before", "after")
    ]
    print("\n" + table(("pairs held out", "loss", "chosen preferred"), rows))
    first, last = trainer.mean(losses[:EDGE]), trainer.mean(losses[-EDGE:])
    print(
        f"\n{results['pairs']} pairs, {results['trained_on']} of the shorter ones trained on, "
        f"{results['held_out']} held out\n"
        f"mean loss of the first {EDGE} steps {first:.3f}, of the last {EDGE} {last:.3f}"
    )
    if first - last < LEAST_FALL:
        print(f"FAULT the loss did not fall by {LEAST_FALL}")
        return 1
    return 0


def draw(losses: list[tuple[int, float]], path: Path) -> None:
    """The loss of each step, and of the last ten."""
    lines = [
        Line("loss of a step", losses, faint=True),
        Line(f"of {SMOOTH} steps", smooth(losses, SMOOTH)),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        svg("DPO with TRL: pairs exported from GSM8K scores", lines, across="step", up=(0.0, 1.0)), encoding="utf-8"
    )
    print(f"plot: {path}")


if __name__ == "__main__":
    sys.exit(main())
