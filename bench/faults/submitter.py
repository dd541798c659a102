"""Submits completions as a careful trainer does: each POST has an Idempotency-Key and is repeated until it is answered."""

import http.client
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import common

from .api import Api

THREADS = 2
WAIT_S = 0.2
PATIENCE_S = 180.0
TEXT = common.text(240, __import__("random").Random(1))


def response_of(number: int) -> str:
    return f"{number} {TEXT}"


@dataclass
class Answers:
    """What the tries brought: by status, or by the kind of error where none came."""

    statuses: Counter[str] = field(default_factory=Counter)
    tries: list[tuple[float, float, str]] = field(default_factory=list)  # start, seconds, status
    repeated: int = 0
    refused: list[str] = field(default_factory=list)


class Submitter:
    """`total` completions of a task, in batches; `pace` a second at most (None: as fast as they go)."""

    def __init__(
        self, url: str, key: str, task: str, total: int, *, batch: int = 100, pace: float | None = None
    ) -> None:
        self.url, self.key, self.task, self.total, self.batch, self.pace = url, key, task, total, batch, pace
        self.expected = {f"{task}-{number}": response_of(number) for number in range(total)}
        self.patience_s = PATIENCE_S  # for one POST
        self.answers = Answers()
        self.accepted: dict[str, str] = {}  # external id -> completion, as the API said
        self._lock = threading.Lock()
        self._chunks = self._cut()
        self._begun = time.monotonic()
        self._threads = [threading.Thread(target=self._run, daemon=True, name="submitter") for _ in range(THREADS)]
        self._giving_up = threading.Event()

    def start(self) -> None:
        self._begun = time.monotonic()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Give up what was not answered yet."""
        self._giving_up.set()
        for thread in self._threads:
            if thread.ident:
                thread.join(60)

    @property
    def done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def _cut(self) -> Iterator[tuple[int, list[str]]]:
        names = list(self.expected)
        for at in range(0, len(names), self.batch):
            yield at, names[at : at + self.batch]

    def _next(self) -> tuple[int, list[str]] | None:
        with self._lock:
            return next(self._chunks, None)

    def _run(self) -> None:
        api = Api(self.url, self.key)
        while not self._giving_up.is_set() and (chunk := self._next()):
            position, names = chunk
            if self.pace:
                self._giving_up.wait(max(0.0, self._begun + position / self.pace - time.monotonic()))
            self._post(api, names)

    def _post(self, api: Api, names: list[str]) -> None:
        """One POST, until it is taken or refused for good."""
        body = {"completions": [self._item(name) for name in names]}
        key, until = uuid.uuid4().hex, time.monotonic() + self.patience_s
        while not self._giving_up.is_set():
            began = time.monotonic()
            try:
                status, answer = api.call("POST", "/completions/batch", body, **{"Idempotency-Key": key})
                outcome = str(status)
            except (OSError, http.client.HTTPException) as exc:
                status, answer, outcome = 0, {}, type(exc).__name__
            with self._lock:
                self.answers.statuses[outcome] += 1
                self.answers.tries.append((began, time.monotonic() - began, outcome))
            if status == 202:
                self.accepted.update(
                    {completion["externalId"]: completion["id"] for completion in answer["completions"]}
                )
                return
            in_flight = status == 409 and answer.get("code") != "external_id_conflict"
            if not (status in (0, 429) or status >= 500 or in_flight) or time.monotonic() > until:
                self.answers.refused.append(f"{outcome} {answer.get('code', '')} {answer.get('detail', '')}"[:200])
                return
            self.answers.repeated += 1
            self._giving_up.wait(WAIT_S)

    def _item(self, name: str) -> dict:
        return {
            "taskId": self.task,
            "modelId": "faults",
            "prompt": TEXT,
            "response": self.expected[name],
            "externalId": name,
        }
