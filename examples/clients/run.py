"""Drives the trainers' own functions against a live server with a grader in another process.

  make example-clients

Starts the server (SQLite, or PostgreSQL + Redis with DATABASE_URL and REDIS_URL), the grader and, one after another, a
script for each framework in an environment that has the frameworks. Each script prints which function of which version
ran, and what it gave; exit status 1 if anything was not as the grader judged.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autotune_sdk import AutotuneClient, AutotuneError, Capabilities

from autotune.site.local.supervisor import SupervisorError
from examples import local
from examples.clients.samples import NEUTRAL

ROOT = Path(__file__).resolve().parents[2]
GRADER = local.GraderFolder(
    Path(__file__).resolve().parent,
    "Judges whether an answer ends with its reference",
    Capabilities(200, False, False, False, 5, ("arithmetic",)),
)
SCRIPTS = (
    "openrlhf_remote",
    "slime_remote",
    "nemo_gym_verify",
    "verl_reward",
    "swift_orm",
    "verifiers_v1",
    "verifiers_classic",
    "datasets_load",
)
OLDER = {"verifiers_classic": "verifiers-classic"}  # what a script needs in another release, in a folder of its own
PROTOCOLS = ("openrlhf", "slime", "verify")
TIMEOUT_S = 300.0
KEY_LIFE = timedelta(hours=2)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", type=Path, required=True, help="of the environment with the frameworks")
    parser.add_argument("--only", action="append", choices=SCRIPTS, help="one of the scripts; may be repeated")
    arguments = parser.parse_args()
    try:
        with local.server("clients", organization="Clients example") as server:
            judged = local.judged_task(server, "ends-with", GRADER)
            env = environment(server, judged.task_id)
            wrong = [name for name in arguments.only or SCRIPTS if run(arguments.python.absolute(), name, env)]
    except (SupervisorError, AutotuneError) as exc:
        print(exc, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(f"not as it should be: {', '.join(wrong)}" if wrong else "all as the grader judged")
    return 1 if wrong else 0


def environment(server: local.Server, task_id: str) -> dict[str, str]:
    """What the scripts read: the server, the task, and a reward endpoint for each protocol."""
    return {
        **os.environ,
        "AUTOTUNE_BASE_URL": server.address,
        "AUTOTUNE_API_KEY": trainer_key(server.client),
        "AUTOTUNE_TASK_ID": task_id,
        "AUTOTUNE_REWARD_DEADLINE_S": "60",
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "PYTHONWARNINGS": "ignore",
        **{f"REWARD_URL_{protocol.upper()}": endpoint(server.client, task_id, protocol) for protocol in PROTOCOLS},
    }


def trainer_key(client: AutotuneClient) -> str:
    """A key for this run that may do what a trainer does, and no more."""
    issued = client.api_keys.create(
        name=f"clients {time.strftime('%H:%M:%S')}", role="training_operator", expires_at=datetime.now(UTC) + KEY_LIFE
    )
    if issued.secret is None:
        raise SupervisorError("the new key has no text")
    return issued.secret


def endpoint(client: AutotuneClient, task_id: str, protocol: str) -> str:
    """The address of a new reward endpoint, at which NEUTRAL replaces a missing score."""
    registration = client.reward_endpoints.create(
        task_id=task_id, protocol=protocol, unscored="neutral", neutral_value=NEUTRAL, model_id=f"by-{protocol}"
    )
    if registration.url is None:
        raise SupervisorError("the reward endpoint has no address")
    return registration.url


def run(python: Path, name: str, env: Mapping[str, str]) -> int:
    """The exit status of a script."""
    needs_number = name not in ("verifiers_v1", "datasets_load")
    more = {"AUTOTUNE_REWARD_MISSING": str(NEUTRAL)} if needs_number else {}
    older = python.parents[1] / OLDER[name] if name in OLDER else None
    paths = [str(older), env["PYTHONPATH"]] if older else [env["PYTHONPATH"]]
    print(f"-- {name}", flush=True)
    try:
        return subprocess.run(  # noqa: S603 - a script of ours
            [str(python), "-m", f"examples.clients.{name}"],
            env={**env, **more, "PYTHONPATH": os.pathsep.join(paths)},
            cwd=ROOT,
            timeout=TIMEOUT_S,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"{name} did not end in {TIMEOUT_S:g} s", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
