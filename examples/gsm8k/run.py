"""Scores 5,276 real answers through a server that this script starts, and checks the result against the file.

  make example-gsm8k GSM8K_FILE=…/gsm8k_model_solutions.jsonl

On SQLite, or on PostgreSQL + Redis with DATABASE_URL and REDIS_URL. Exit status 1 when a count differs, a completion
has no score or two, a score is not what the file says, or the grader's own log shows what the server does not know.
"""

import os
import sys
import time
from pathlib import Path

from autotune_sdk import AutotuneClient, AutotuneError, Capabilities, WaitTimeout

from autotune.site.local.console import ProgressBar, table
from autotune.site.local.supervisor import Supervisor, SupervisorError
from examples import local
from examples.gsm8k import check
from examples.gsm8k.data import Answer, NoData, load

GRADER = local.GraderFolder(
    Path(__file__).resolve().parent,
    "Compares the number after the last `A:`",
    Capabilities(200, False, True, False, 5, ("arithmetic",)),
)
POST = 1000  # completions in one request
CHECK_EVERY_S = 5.0
TIMEOUT_S = 900.0
FAULTS_SHOWN = 20


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
    with local.server("gsm8k", organization="GSM8K example") as server:
        judged = local.judged_task(server, "gsm8k", GRADER)
        began = time.monotonic()
        wait(server.client, server.tree, submit(server.client, judged.task_id, answers))
        seconds = time.monotonic() - began
        print(f"{len(answers)} answers in {seconds:.1f} s on {server.database}")
        return compare(server.client, judged, answers)


def submit(client: AutotuneClient, task_id: str, answers: list[Answer]) -> list[str]:
    """The ids of the completions."""
    progress, ids = ProgressBar("submitted", len(answers)), list[str]()
    for first in range(0, len(answers), POST):
        batch = [answer.completion() for answer in answers[first : first + POST]]
        ids += client.completions.submit_batch(batch, task_id=task_id).ids
        progress.show(len(ids))
    return ids


def wait(client: AutotuneClient, tree: Supervisor, ids: list[str]) -> None:
    """Return when all are final.

    raises SupervisorError if a process ends, or it takes too long
    """
    progress, pending = ProgressBar("scored   ", len(ids)), ids
    until = time.monotonic() + TIMEOUT_S

    def show(final: int, of: int) -> None:
        progress.show(len(ids) - of + final)

    while pending:
        try:
            client.completions.wait_for_scores(pending, timeout_s=CHECK_EVERY_S, on_progress=show)
            return
        except WaitTimeout as late:
            pending = list(late.pending)
        tree.check()
        if time.monotonic() > until:
            raise SupervisorError(f"{len(pending)} completions are not scored after {TIMEOUT_S:g} s")


def compare(client: AutotuneClient, judged: local.Judged, answers: list[Answer]) -> int:
    """Print the table and what does not agree; the exit status."""
    completions = list(check.completions(client, judged.task_id))
    scores = [(score.completion_id, score.value) for score in client.scores.iterate(task_id=judged.task_id)]
    logged = check.graded(judged.log, judged.logged_before)
    print(means(answers, {completion.id: completion.model_id for completion in completions}, scores))
    wrong = check.faults(answers, completions, scores, logged)
    for line in wrong[:FAULTS_SHOWN]:
        print(f"FAULT {line}")
    if wrong:
        print(f"{len(wrong)} faults")
        return 1
    print(f"{len(completions)} completions, {len(scores)} scores, {len(logged)} items in the grader's log: all agree")
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
