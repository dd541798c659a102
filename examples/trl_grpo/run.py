"""A real GRPO run whose rewards come from a live server with a grader in another process.

  make example-grpo

Starts the server (SQLite, or PostgreSQL + Redis with DATABASE_URL and REDIS_URL), the grader and the trainer, draws the
mean reward by step, and ends with exit status 1 unless it rose clearly and every reward was the grader's.
"""

import argparse
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autotune_sdk import AutotuneError, Capabilities

from autotune.site.local.console import table
from autotune.site.local.supervisor import SupervisorError
from examples import local
from examples.gsm8k import check
from examples.training import trainer
from examples.training.chart import Line, smooth, svg

GRADER = local.GraderFolder(
    Path(__file__).resolve().parent,
    "Judges how well an answer counts on",
    Capabilities(200, True, False, False, 5, ("counting",)),
)
# All that the trainer may do: to have rewards of a task, one must see the task.
MAY = (
    {"resource": "tasks", "actions": ["read"], "scope": "organization"},
    {"resource": "rewards", "actions": ["create"], "scope": "organization"},
)
KEY_LASTS = timedelta(hours=1)
STEPS = 200
TIMEOUT_S = 900.0
EDGE = 20  # steps at either end whose mean is compared
SMOOTH = 10
LEAST_RISE = 0.4


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", type=Path, required=True, help="of the training environment")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--plot", type=Path, help="where the plot goes; default: beside the run's other files")
    arguments = parser.parse_args()
    try:
        return run(arguments.python.absolute(), arguments.steps, arguments.plot)
    except (SupervisorError, AutotuneError) as exc:
        print(exc, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(python: Path, steps: int, plot: Path | None) -> int:
    """Start everything, train, compare; the exit status."""
    with local.server("trl-grpo", organization="GRPO example") as server:
        judged = local.judged_task(server, "counting", GRADER)
        env = {
            "AUTOTUNE_BASE_URL": server.address,
            "AUTOTUNE_API_KEY": trainer_key(server),
            "AUTOTUNE_TASK_ID": judged.task_id,
        }
        began = time.monotonic()
        trainer.train(
            server, python, "examples.trl_grpo.train", str(server.folder), "--steps", str(steps),
            env=env, timeout_s=TIMEOUT_S,
        )  # fmt: skip
        print(f"{steps} steps in {time.monotonic() - began:.0f} s on {server.database}")
        rewards = trainer.history(server.folder / "history.jsonl", "reward")
        draw(rewards, plot or server.folder / "reward.svg")
        return compare(server, judged, rewards)


def trainer_key(server: local.Server) -> str:
    """A key of a role that may ask for rewards and nothing else, and that ends by itself."""
    name = f"trainer-{time.time_ns()}"
    role = server.client.roles.create(name=name, description="Asks for rewards.", permissions=MAY)
    issued = server.client.api_keys.create(name=name, role=role.id, expires_at=datetime.now(UTC) + KEY_LASTS)
    if issued.secret is None:
        raise SupervisorError("the new key came without its text")
    return issued.secret


def draw(rewards: list[tuple[int, float]], path: Path) -> None:
    """The mean reward of each step, and of the last ten."""
    lines = [
        Line("mean reward of a step", rewards, faint=True),
        Line(f"of {SMOOTH} steps", smooth(rewards, SMOOTH)),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        svg("GRPO with TRL: rewards from a live Autotune server", lines, across="step", up=(0.0, 1.0)),
        encoding="utf-8",
    )
    print(f"plot: {path}")


def compare(server: local.Server, judged: local.Judged, rewards: list[tuple[int, float]]) -> int:
    """Print what was learnt and what does not agree; the exit status."""
    results = trainer.read(server.folder / "answers.json")
    answers = [(prompt, results["before"][prompt], after) for prompt, after in results["after"].items()]
    print("\n" + table(("prompt", "before", "after"), answers))
    scores = {score.completion_id: score.value for score in server.client.scores.iterate(task_id=judged.task_id)}
    logged = check.graded(judged.log, judged.logged_before)
    unscored = sum(results["unscored"].values())
    first, last = trainer.mean(rewards[:EDGE]), trainer.mean(rewards[-EDGE:])
    print(
        f"\n{results['asked']} rewards asked for, {len(scores)} judged by the grader, the others equal to these; "
        f"{unscored} without a reward {results['unscored'] or ''}\n"
        f"{results['reward_seconds'] / max(1, len(rewards)) * 1000:.0f} ms for the rewards of a step\n"
        f"mean reward of the first {EDGE} steps {first:.3f}, of the last {EDGE} {last:.3f}"
    )
    faults = []
    if logged != scores:
        faults.append(f"the grader judged {len(logged)} answers, and the server has {len(scores)} scores")
    if (fault := rise_fault(len(rewards), first, last)) is not None:
        faults.append(fault)
    for line in faults:
        print(f"FAULT {line}")
    return 1 if faults else 0


def rise_fault(steps: int, first: float, last: float) -> str | None:
    """Say if the mean reward did not rise enough; None if it did, or if the run is too short to check."""
    if steps < STEPS:
        print(f"{steps} steps are too few to require a rise by {LEAST_RISE}; {STEPS} are enough")
        return None
    return None if last - first >= LEAST_RISE else f"the mean reward did not rise by {LEAST_RISE}"


if __name__ == "__main__":
    sys.exit(main())
