"""Scores 5,276 real answers through a server that this script starts, and checks the result against the file.

  make example-gsm8k GSM8K_FILE=…/gsm8k_model_solutions.jsonl

On SQLite, or on PostgreSQL + Redis with DATABASE_URL and REDIS_URL. Exit status 1 when a count differs, a completion
has no score or two, a score is not what the file says, or the grader's own log shows what the server does not know.
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from autotune_sdk import AutotuneClient, AutotuneError, Capabilities, WaitTimeout

from autotune.site import credentials, databases, kept, launch
from autotune.site.console import Progress, table
from autotune.site.ports import free_port, listens
from autotune.site.supervisor import Supervisor, SupervisorError
from examples.gsm8k import check
from examples.gsm8k.data import Answer, NoData, load

HERE = Path(__file__).resolve().parent
GRADER_PORTS = range(9200, 9300)
SERVER_PORTS = range(8100, 8200)
POST = 1000  # completions in one request
LOOK_S = 5.0
TIMEOUT_S = 900.0
FAULTS_SHOWN = 20


@dataclass(frozen=True)
class Run:
    """A grader and a task of this run's own, so that earlier runs in the same database do not count.

    logged_before  bytes of the grader's log that tell of the verification
    """

    task_id: str
    log: Path
    logged_before: int


def main() -> int:
    try:
        answers = load(os.environ.get("GSM8K_FILE", ""))
        return score(answers)
    except (NoData, SupervisorError, AutotuneError) as exc:
        print(exc, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def score(answers: list[Answer]) -> int:
    """Start everything, submit, wait, compare; the exit status."""
    data = launch.data_dir(os.environ, default="var/gsm8k")
    folder = data / f"gsm8k-{databases.label(os.environ)}"
    grader_port = free_port(GRADER_PORTS)
    port = int(os.environ.get("PORT") or free_port(SERVER_PORTS))
    env = launch.environment(os.environ, port=port, data=data, grader_ports=[grader_port])
    with Supervisor(data / "logs") as tree:
        if url := env.get("DATABASE_URL"):
            databases.create_if_missing(url)
        launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
        known, _ = credentials.obtain(
            env, folder / "state.json", organization="GSM8K example", admin_email="admin@gsm8k.example"
        )
        with AutotuneClient(known["apiKey"], launch.start_server(tree, env)) as client:
            run = prepare(client, tree, folder, grader_port)
            began = time.monotonic()
            wait(client, tree, submit(client, run.task_id, answers))
            seconds = time.monotonic() - began
            print(f"{len(answers)} answers in {seconds:.1f} s on {databases.label(env)}")
            return compare(client, run, answers)


def prepare(client: AutotuneClient, tree: Supervisor, folder: Path, port: int) -> Run:
    """Register, start and verify the grader; make the task."""
    name = f"gsm8k-{time.strftime('%Y%m%d-%H%M%S')}"
    log, secret = folder / f"{name}.jsonl", folder / f"{name}.secret"
    made = client.graders.create(
        name=name,
        description="Compares the number after the last `A:`",
        endpoint=f"http://127.0.0.1:{port}",
        capabilities=Capabilities(200, False, True, False, 5, ("arithmetic",)),
    )
    if made.credentials is None:
        raise SupervisorError("the registration gave no secret")
    kept.write(secret, made.credentials.shared_secret)
    tree.start(launch.kit_grader("gsm8k-grader", "grader:grader", folder=HERE, port=port, secret_file=secret, log=log))
    tree.wait_for(lambda: listens(port), "the start of the grader", 20.0)
    verified = client.graders.verify(made.grader.id)
    if not verified.verified:
        raise SupervisorError(f"the grader was not verified: {verified.checks}")
    task = client.tasks.create(name=name, prompt_template="{{prompt}}", grader_id=made.grader.id)
    return Run(task.id, log, log.stat().st_size)


def submit(client: AutotuneClient, task_id: str, answers: list[Answer]) -> list[str]:
    """The ids of the completions."""
    progress, ids = Progress("submitted", len(answers)), list[str]()
    for first in range(0, len(answers), POST):
        batch = [answer.completion() for answer in answers[first : first + POST]]
        ids += client.completions.submit_batch(batch, task_id=task_id).ids
        progress.show(len(ids))
    return ids


def wait(client: AutotuneClient, tree: Supervisor, ids: list[str]) -> None:
    """Return when all are final.

    raises SupervisorError if a process ends, or it takes too long
    """
    progress, pending = Progress("scored   ", len(ids)), ids
    until = time.monotonic() + TIMEOUT_S

    def show(final: int, of: int) -> None:
        progress.show(len(ids) - of + final)

    while pending:
        try:
            client.completions.wait_for_scores(pending, timeout_s=LOOK_S, on_progress=show)
            return
        except WaitTimeout as late:
            pending = list(late.pending)
        tree.check()
        if time.monotonic() > until:
            raise SupervisorError(f"{len(pending)} completions are not scored after {TIMEOUT_S:g} s")


def compare(client: AutotuneClient, run: Run, answers: list[Answer]) -> int:
    """Print the table and what does not agree; the exit status."""
    found = list(check.completions(client, run.task_id))
    scores = [(score.completion_id, score.value) for score in client.scores.iterate(task_id=run.task_id)]
    logged = check.graded(run.log, run.logged_before)
    print(means(answers, {completion.id: completion.model_id for completion in found}, scores))
    wrong = check.faults(answers, found, scores, logged)
    for line in wrong[:FAULTS_SHOWN]:
        print(f"FAULT {line}")
    if wrong:
        print(f"{len(wrong)} faults")
        return 1
    print(f"{len(found)} completions, {len(scores)} scores, {len(logged)} items in the grader's log: all agree")
    return 0


def means(answers: list[Answer], models: dict[str, str], scores: list[tuple[str, float]]) -> str:
    """The table: mean score by model beside what the file says."""
    rows = []
    for model in dict.fromkeys(answer.model for answer in answers):
        right = [answer.correct for answer in answers if answer.model == model]
        values = [value for completion_id, value in scores if models.get(completion_id) == model]
        mean = f"{sum(values) / len(values):.3f}" if values else "-"
        rows.append(
            (model, str(len(values)), f"{sum(values):g}", mean, str(sum(right)), f"{sum(right) / len(right):.3f}")
        )
    return "\n" + table(("model", "scored", "right", "mean", "right by the file", "mean by the file"), rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
