"""Run the steps of the demo through the published client. Each step can be repeated."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autotune_sdk import AutotuneClient, Capabilities, ConflictError, Limits, NotFound, WaitTimeout

from autotune.site.local import kept
from autotune.site.local.supervisor import SupervisorError

GRADER_NAME = "Demo grader"
TASK_NAME = "Demo task"
CHECK_EVERY_S = 5.0  # interval at which a wait checks that the processes are alive
CAPABILITIES = Capabilities(
    max_batch_size=50, supports_dimensions=True, supports_explanations=True, supports_async=False, avg_latency_ms=5
)


@dataclass(frozen=True)
class DemoFiles:
    """The files in which the demo stores what belongs to one database."""

    state: Path
    secret: Path
    grader_log: Path


def register(client: AutotuneClient, places: DemoFiles, endpoint: str) -> str:
    """Register the demo grader at `endpoint` if needed, store its secret in `places.secret`, and return its id."""
    grader_id = _existing_id(client.graders.get, kept.read(places.state).get("graderId"))
    credentials = None
    if grader_id is None:
        try:
            registration = client.graders.create(
                name=GRADER_NAME,
                description="Judges the sample completions by an answer key of its own.",
                endpoint=endpoint,
                capabilities=CAPABILITIES,
                limits=Limits(max_concurrency=8),
            )
            grader_id, credentials = registration.grader.id, registration.credentials
        except ConflictError:  # an earlier run registered it, and ended before it stored the id
            grader_id = next(g.id for g in client.graders.list(search=GRADER_NAME) if g.name == GRADER_NAME)
    kept.keep(places.state, {"graderId": grader_id})
    if credentials is None and client.graders.get(grader_id).endpoint != endpoint:
        credentials = client.graders.update(grader_id, endpoint=endpoint).credentials
    if credentials is None and not places.secret.exists():
        credentials = client.graders.rotate_secret(grader_id, force=True)
    if credentials is not None and credentials.shared_secret is not None:
        kept.write(places.secret, credentials.shared_secret)
    return grader_id


def verify(client: AutotuneClient, grader_id: str) -> None:
    """Let the server verify the grader.

    raises SupervisorError with the checks that did not pass
    """
    result = client.graders.verify(grader_id)
    if not result.verified:
        failed = [f"\n  {check.name}: {check.detail}" for check in result.checks if not check.passed]
        raise SupervisorError(f"The demo grader was not verified:{''.join(failed)}")


def task(client: AutotuneClient, places: DemoFiles, grader_id: str) -> str:
    """Return the id of the demo task, creating the task if needed."""
    task_id = _existing_id(client.tasks.get, kept.read(places.state).get("taskId"))
    if task_id is None:
        try:
            task_id = client.tasks.create(
                name=TASK_NAME,
                description="Short questions whose answers must have a given form.",
                prompt_template="{{prompt}}",
                grader_id=grader_id,
            ).id
        except ConflictError:
            task_id = next(t.id for t in client.tasks.list(search=TASK_NAME) if t.name == TASK_NAME)
    kept.keep(places.state, {"taskId": task_id})
    return task_id


def submit(client: AutotuneClient, task_id: str, samples: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Submit the samples, and return (ids of their completions, how many of them are new)."""
    answer = client.completions.submit_batch(samples, task_id=task_id)
    return answer.ids, sum(not item.existing for item in answer.completions)


def wait(
    client: AutotuneClient, ids: Iterable[str], *, alive: Callable[[], None], progress: Callable[[int], None]
) -> dict[str, int]:
    """Wait until all completions are final, and return {status: how many}.

    `alive` raises if a process of the tree has ended.
    """
    pending, statuses = list(ids), dict[str, int]()
    total = len(pending)
    progress(0)

    def show(final: int, of: int) -> None:
        progress(total - of + final)

    while pending:
        try:
            finished = client.completions.wait_for_scores(pending, timeout_s=CHECK_EVERY_S, on_progress=show)
            pending = []
        except WaitTimeout as late:
            finished, pending = late.finished, list(late.pending)
        for outcome in finished.values():
            statuses[outcome.status] = statuses.get(outcome.status, 0) + 1
        alive()
    return statuses


def means(client: AutotuneClient, task_id: str, models: Iterable[str]) -> list[tuple[str, int, float | None]]:
    """Return (model, scored, mean score) for each model."""
    model_means = []
    for model in models:
        summary = client.scores.summary(task_id=task_id, model_id=model)
        spread = summary.score_distribution
        model_means.append((model, summary.total_records, spread.mean if spread else None))
    return model_means


def export(client: AutotuneClient, task_id: str, folder: Path) -> list[tuple[Path, int]]:
    """Export the training data as JSONL and as Parquet, and return (file, bytes) of each."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for form in ("jsonl", "parquet"):
        path = folder / f"scores.{form}"
        files.append((path, client.scores.export(path, format=form, task_id=task_id, dimensions=True).bytes))
    return files


def _existing_id(get: Callable[[str], Any], identifier: str | None) -> str | None:
    """Return the id if its object still exists."""
    if identifier is None:
        return None
    try:
        get(identifier)
    except NotFound:
        return None
    return identifier
