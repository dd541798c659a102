"""Compares three books: what was submitted, the server's database, and the journal of the graders.

Every number of `Findings` that ends a promise must be 0: nothing lost, nothing doubled, nothing wrong, nothing asked for
more often than there were leases. Nothing here goes through the server's code.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

import common
from autotune.core import ids

from .database import Database, as_uuid
from .journal import Book

EXAMPLES = 3


@dataclass
class Findings:
    """Figures of a task's completions; those of `FAULTS` must be 0."""

    submitted: int = 0
    completions: int = 0
    scores: int = 0
    calls: int = 0
    attempts: int = 0
    failedRuns: int = 0
    lost: int = 0  # submitted, and no completion
    storedTwice: int = 0  # two completions for one submission, or one that nobody submitted
    runMissing: int = 0  # a completion without its run, or with more than one
    unfinished: int = 0  # runs that are not final
    failedOtherwise: int = 0  # runs that failed with a code that nothing here explains
    scoreMissing: int = 0  # completed, without a score
    scoreDoubled: int = 0
    scoreUnfounded: int = 0  # a score of a run that is not completed, or that no grader gave
    rewardMissing: int = 0
    rewardDoubled: int = 0
    wrongValue: int = 0
    wrongReward: int = 0
    fewerCallsThanScores: int = 0
    moreCallsThanLeases: int = 0  # runs that were asked for more often than they were claimed
    examples: list[str] = field(default_factory=list)

    @property
    def faults(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if name in FAULTS and value}

    @property
    def ok(self) -> bool:
        return not self.faults

    def add(self, what: str, example: Any, count: int = 1) -> None:
        setattr(self, what, getattr(self, what) + count)
        if sum(line.startswith(what) for line in self.examples) < EXAMPLES:
            self.examples.append(f"{what}: {example}")


FAULTS = (
    "lost", "storedTwice", "runMissing", "unfinished", "failedOtherwise", "scoreMissing", "scoreDoubled",
    "scoreUnfounded", "rewardMissing", "rewardDoubled", "wrongValue", "wrongReward", "fewerCallsThanScores",
    "moreCallsThanLeases",
)  # fmt: skip


def check(
    database: Database, task: str, expected: Mapping[str, str], book: Book, *, codes: Collection[str] = ()
) -> Findings:
    """What became of a task's completions, each to be scored by one grader.

    expected  {external id: response} of all that was submitted
    book      the grader's journal
    codes     of failures that are no fault here
    """
    findings = Findings(submitted=len(expected))
    of_task = ids.decode("task", task)
    stored = _completions(findings, database, of_task, expected)
    runs = _runs(findings, database, of_task, stored, codes)
    scores = _scores(findings, database, of_task, stored, expected, runs, book)
    _rewards(findings, database, of_task, stored, expected, runs, scores)
    _calls(findings, runs, book, scores)
    return findings


def _completions(findings: Findings, database: Database, task: UUID, expected: Mapping[str, str]) -> dict[UUID, str]:
    """{completion: its external id}."""
    stored = {
        as_uuid(pk): name
        for pk, name in database.rows("select id, external_id from tasks_completion where task_id = %s", task)
    }
    findings.completions = len(stored)
    times = Counter(stored.values())
    for name in expected.keys() - times.keys():
        findings.add("lost", name)
    for name, count in times.items():
        if count > 1 or name not in expected:
            findings.add("storedTwice", name, count - (name in expected))
    return stored


@dataclass(frozen=True)
class Run:
    completion: UUID
    status: str
    attempt: int
    code: str


def _runs(
    findings: Findings, database: Database, task: UUID, stored: Mapping[UUID, str], codes: Collection[str]
) -> dict[UUID, Run]:
    rows = database.rows(
        "select id, completion_id, status, attempt, error_code from scores_workflowrun where task_id = %s", task
    )
    runs = {as_uuid(pk): Run(as_uuid(completion), *rest) for pk, completion, *rest in rows}
    each = Counter(run.completion for run in runs.values())
    for completion in stored.keys() | each.keys():
        if each[completion] != 1:
            findings.add("runMissing", f"{completion} has {each[completion]} runs")
    for pk, run in runs.items():
        findings.attempts += run.attempt
        if run.status == "failed":
            findings.failedRuns += 1
            if run.code not in codes:
                findings.add("failedOtherwise", f"{pk} {run.code}")
        elif run.status != "completed":
            findings.add("unfinished", f"{pk} {run.status} attempt {run.attempt}")
    return runs


def _scores(
    findings: Findings,
    database: Database,
    task: UUID,
    stored: Mapping[UUID, str],
    expected: Mapping[str, str],
    runs: Mapping[UUID, Run],
    book: Book,
) -> dict[UUID, int]:
    """{completion: its scores}."""
    per_run: Counter[UUID] = Counter()
    per_completion: Counter[UUID] = Counter()
    for run, completion, value in database.rows(
        "select run_id, completion_id, value from scores_score where task_id = %s", task
    ):
        run, completion = as_uuid(run), as_uuid(completion)
        findings.scores += 1
        per_run[run] += 1
        per_completion[completion] += 1
        if run not in runs or runs[run].status != "completed" or not book.answered[public(completion)]:
            findings.add("scoreUnfounded", f"run {run}, completion {completion}")
        if value != value_of(completion, stored, expected):
            findings.add("wrongValue", f"{public(completion)}: {value}")
    for run, count in per_run.items():
        if count > 1:
            findings.add("scoreDoubled", f"run {run} has {count}", count - 1)
    for pk, run in runs.items():
        if run.status == "completed" and not per_run[pk]:
            findings.add("scoreMissing", f"run {pk}")
    return per_completion


def _rewards(
    findings: Findings,
    database: Database,
    task: UUID,
    stored: Mapping[UUID, str],
    expected: Mapping[str, str],
    runs: Mapping[UUID, Run],
    scores: Mapping[UUID, int],
) -> None:
    rewards = defaultdict(list)
    for completion, value in database.rows("select completion_id, value from scores_reward where task_id = %s", task):
        rewards[as_uuid(completion)].append(value)
    final = {run.completion for run in runs.values() if run.status in ("completed", "failed")}
    for completion in final - rewards.keys():
        findings.add("rewardMissing", completion)
    for completion, values in rewards.items():
        right = value_of(completion, stored, expected) if scores.get(completion) else None
        if len(values) > 1:
            findings.add("rewardDoubled", completion, len(values) - 1)
        if any(value != right for value in values):
            findings.add("wrongReward", f"{completion}: {values}")


def _calls(findings: Findings, runs: Mapping[UUID, Run], book: Book, scores: Mapping[UUID, int]) -> None:
    ours = {public(run.completion) for run in runs.values()}  # the sample of the verification is none of them
    findings.calls = sum(len(requests) for item, requests in book.requests.items() if item in ours)
    called = {completion for completion in scores if book.requests.get(public(completion))}
    if findings.calls < findings.scores or len(called) < len(scores):
        findings.add("fewerCallsThanScores", f"{findings.calls} calls, {findings.scores} scores")
    for pk, run in runs.items():
        calls = len(book.requests.get(public(run.completion), ()))
        if calls > run.attempt:
            findings.add("moreCallsThanLeases", f"run {pk}: {calls} calls, {run.attempt} attempts")


def value_of(completion: UUID, stored: Mapping[UUID, str], expected: Mapping[str, str]) -> float | None:
    """The value that the completion's score must have; None for a completion that should not be there."""
    response = expected.get(stored.get(completion, ""))
    return None if response is None else common.value_of(public(completion), response)


def public(completion: UUID) -> str:
    return ids.encode("comp", completion)
