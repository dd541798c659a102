"""Compares the server's answers with the file and the grader's own log."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from autotune_sdk import AutotuneClient, Completion

from examples.gsm8k.data import Answer

PAGE = 1000


def completions(client: AutotuneClient, task_id: str) -> Iterator[Completion]:
    """Every completion of the task, by cursor."""
    page = client.completions.list(task_id=task_id, limit=PAGE)
    yield from page
    while page.next_cursor:
        page = client.completions.list(task_id=task_id, limit=PAGE, cursor=page.next_cursor)
        yield from page


def graded(log: Path, since: int) -> dict[str, float | None]:
    """{completion id: value} of what the grader wrote down after byte `since` of its log; None for an error."""
    with log.open("rb") as file:
        file.seek(since)
        lines = [json.loads(line) for line in file]
    return {line["completionId"]: line.get("value") for line in lines}


def faults(
    answers: list[Answer],
    listed_completions: Iterable[Completion],
    scores: Iterable[tuple[str, float]],
    logged: dict[str, float | None],
) -> list[str]:
    """What does not agree, a line each.

    answers             what was submitted
    listed_completions  the completions that the server lists
    scores              (completion id, value) of the scores that the server lists
    logged              what the grader says it judged
    """
    listed = {completion.id: completion for completion in listed_completions}
    values: dict[str, float] = {}
    times = Counter[str]()
    for completion_id, value in scores:
        times[completion_id] += 1
        values[completion_id] = value
    expected = {answer.external_id: answer for answer in answers}
    return [
        *_counts(expected, listed),
        *(f"{i} has no score (status {c.status})" for i, c in listed.items() if not times[i]),
        *(f"{i} has {n} scores" for i, n in times.items() if n > 1),
        *(f"a score names {i}, which is not a completion of the task" for i in times if i not in listed),
        *(f"the grader judged {i}, which the server does not list" for i in logged if i not in listed),
        *(f"the grader judged {i}, of which the server has no score" for i in logged if i in listed and not times[i]),
        *(f"the server has a score of {i}, which the grader did not judge" for i in times if i not in logged),
        *(f"{i}: the grader said {v}, the server {values[i]}" for i, v in logged.items() if values.get(i, v) != v),
        *_wrong(expected, listed, values),
    ]


def _counts(expected: dict[str, Answer], listed: dict[str, Completion]) -> Iterator[str]:
    times = Counter(completion.external_id for completion in listed.values())
    yield from (f"{name} was submitted and is not there" for name in expected if not times[name])
    yield from (f"{name} is there {n} times" for name, n in times.items() if n > 1)
    yield from (f"{name} was not submitted" for name in times if name not in expected)


def _wrong(expected: dict[str, Answer], listed: dict[str, Completion], values: dict[str, float]) -> Iterator[str]:
    for completion_id, completion in listed.items():
        answer, value = expected.get(completion.external_id or ""), values.get(completion_id)
        if answer and value is not None and value != float(answer.correct):
            yield f"{answer.external_id}: scored {value}, and the file says {'right' if answer.correct else 'wrong'}"
