"""The command `autotune score`: reads a JSONL file and writes a table with a reward for each line.

It submits lines in windows (one request each), with up to 20 windows in progress; it waits for the oldest, writes it
and drops it, so that memory does not grow with the file. It stores nothing between runs: a line's external id is made
of the file's digest and its number, and the server answers a repeated submission with the completion it has.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .._waiting import ScoreWait
from ..client import AutotuneClient
from ..errors import (
    APIError,
    AuthenticationError,
    AutotuneError,
    ConfigurationError,
    NotFound,
    PermissionDenied,
    WaitTimeout,
)
from ..models.completions import Completion
from ..models.scores import Outcome
from .lines import Fields, FileChanged, Line, Survey, external_id, read, survey
from .outputs import Output, OutputError, Row, writer_for
from .progress import Progress

WINDOWS, WINDOW_BYTES, UNDER_WAY_BYTES = 20, 8 * 1024 * 1024, 64 * 1024 * 1024
OK, SOME_FAILED, BAD_INPUT, API_FAILED, OUT_OF_TIME, INTERRUPTED = 0, 1, 2, 3, 4, 130
GO_ON = "Repeat the command to continue: nothing is submitted twice."


@dataclass
class Window:
    """Lines that were submitted together, and the ids of their completions."""

    lines: list[Line]
    ids: list[str]
    size: int


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    fields = Fields(arguments.model, arguments.model_field, arguments.prompt_field, arguments.response_field)
    try:
        writer_for(arguments.out)
        checked = survey(arguments.file, fields)
        if checked.problem_count:
            return _complain(arguments.file, checked)
        if checked.ignored:
            names = ", ".join(sorted(checked.ignored)[:10])
            print(f"autotune: ignored members: {names}", file=sys.stderr)
        with AutotuneClient(base_url=arguments.base_url) as client:
            failed = Run(client, arguments, fields, checked).go()
    except (OSError, OutputError) as exc:
        return _say(str(exc), BAD_INPUT)
    except FileChanged:
        return _say(f"{arguments.file} changed while it was read", BAD_INPUT)
    except WaitTimeout as exc:
        return _say(f"{exc}. {GO_ON}", OUT_OF_TIME)
    except AutotuneError as exc:
        return _say(_with_advice(exc), API_FAILED)
    except KeyboardInterrupt:
        return _say(f"interrupted. {GO_ON}", INTERRUPTED)
    if failed:
        return _say(f"{arguments.out}: {failed:,} of {checked.count:,} lines have no score", SOME_FAILED)
    return OK


class Run:
    """One run of the command over a checked file."""

    def __init__(self, client: AutotuneClient, arguments: argparse.Namespace, fields: Fields, checked: Survey) -> None:
        self.client, self.arguments, self.fields, self.checked = client, arguments, fields, checked
        self.deadline = None if arguments.wait is None else time.monotonic() + arguments.wait
        self.progress = Progress(checked.count, quiet=arguments.quiet)
        self.reasons = Reasons(client)
        self.submitted = self.written = self.failed = 0

    def go(self) -> int:
        """Score the lines and write the table; return how many lines have no score."""
        self.client.tasks.get(self.arguments.task)
        under_way: deque[Window] = deque()
        try:
            with Output(self.arguments.out) as out:
                lines = read(self.arguments.file, self.fields, self.checked)
                for part in windows(lines, self.arguments.batch_size):
                    under_way.append(self._submit(part))
                    while len(under_way) >= WINDOWS or sum(w.size for w in under_way) > UNDER_WAY_BYTES:
                        out.write(self._rows(under_way.popleft()))
                while under_way:
                    out.write(self._rows(under_way.popleft()))
        finally:
            self.progress.end()
        return self.failed

    def _submit(self, lines: list[Line]) -> Window:
        items = [{**line.item, "external_id": external_id(self.checked.digest, line.number)} for line in lines]
        try:
            sent = self.client.completions.submit_batch(
                items, task_id=self.arguments.task, priority=self.arguments.priority
            )
        except APIError as exc:
            for error in exc.errors[:10]:
                if error.index is not None and error.index < len(lines):
                    print(f"autotune: line {lines[error.index].number}: {error.detail}", file=sys.stderr)
            raise
        self.submitted += len(lines)
        self.progress.update(submitted=self.submitted)
        return Window(lines, sent.ids, sum(line.size for line in lines))

    def _rows(self, window: Window) -> list[Row]:
        """Return the rows of a window, when all its completions are final."""
        prompts: dict[str, str | None] = {}
        unknown = {i for i, line in zip(window.ids, window.lines, strict=True) if line.prompt is None}

        def keep(completion: Completion) -> None:
            if completion.id in unknown:
                prompts[completion.id] = completion.prompt

        left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        wait = ScoreWait(
            self.client.completions,
            window.ids,
            left,
            lambda final, _: self.progress.update(final=self.written + final),
            keep,
        )
        outcomes = wait.run()
        for completion_id in unknown - prompts.keys():
            prompts[completion_id] = self.client.completions.get(completion_id).prompt
        rows = [self._row(line, outcomes[i], prompts.get(i)) for i, line in zip(window.ids, window.lines, strict=True)]
        self.written += len(rows)
        self.progress.update(final=self.written)
        return rows

    def _row(self, line: Line, outcome: Outcome, prompt: str | None) -> Row:
        scored = outcome.value is not None
        self.failed += not scored
        return {
            "line": line.number,
            "external_id": external_id(self.checked.digest, line.number),
            "completion_id": outcome.completion_id,
            "model_id": line.item["model_id"],
            "prompt": prompt if line.prompt is None else line.prompt,
            "response": line.item["response"],
            "score": outcome.value,
            "confidence": outcome.confidence,
            "status": outcome.status,
            "error": None if scored else self.reasons.of(outcome.completion_id),
        }


class Reasons:
    """Return why completions have no score, from their workflow runs, if the key may read these."""

    def __init__(self, client: AutotuneClient) -> None:
        self.client, self.shown = client, True

    def of(self, completion_id: str) -> str:
        """Return a code and a sentence."""
        answer: Any = None
        if self.shown:
            try:
                answer = self.client._transport.get(
                    "/workflow-runs", {"completion_id": completion_id, "status": "failed"}
                )
            except (NotFound, PermissionDenied):
                self.shown = False
        runs = (answer or {}).get("workflowRuns") or []
        for error in (r["error"] for r in runs if isinstance(r, dict) and isinstance(r.get("error"), dict)):
            return f"{error.get('code')}: {error.get('message')}"
        return "failed: no grader returned a score"


def windows(lines: Iterable[Line], count: int) -> Iterator[list[Line]]:
    """Yield lines in groups of `count`, or fewer if they are long."""
    group: list[Line] = []
    size = 0
    for line in lines:
        if group and (len(group) == count or size + line.size > WINDOW_BYTES):
            yield group
            group, size = [], 0
        group.append(line)
        size += line.size
    if group:
        yield group


def _with_advice(error: AutotuneError) -> str:
    """Add advice to an error. Repeating the command helps only where nothing has to change first."""
    if isinstance(error, AuthenticationError):
        return f"{error}\nSet AUTOTUNE_API_KEY to a valid key, then repeat the command: nothing is submitted twice."
    if isinstance(error, PermissionDenied):
        return f"{error}\nUse a key whose role may read tasks and create completions."
    if isinstance(error, (ConfigurationError, NotFound)):
        return str(error)
    return f"{error}\n{GO_ON}"


def _complain(path: str, checked: Survey) -> int:
    for problem in checked.problems:
        print(f"{path}: {problem}", file=sys.stderr)
    more = checked.problem_count - len(checked.problems)
    return _say((f"and {more:,} more; " if more else "") + "nothing was submitted", BAD_INPUT)


def _say(text: str, code: int) -> int:
    print(f"autotune: {text}", file=sys.stderr)
    return code
