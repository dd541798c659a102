"""A batch of completions on its way through a system: its grader, its task, its submitter, and what is to be seen of it."""

import itertools
import time
from collections.abc import Callable

from autotune.core import ids
from autotune.site.local.supervisor import SupervisorError

from . import journal
from .api import Api, control
from .checker import Findings, check
from .submitter import Submitter
from .system import System
from .watch import Watch

PATIENCE_S = 300.0
LOOK_S = 0.3
STEP_S = 0.05
_number = itertools.count(1)


class Work:
    """`grader` says how the grader is (exchange.Personality); `limits`, `retry` and `more` are members of the API's objects."""

    def __init__(
        self,
        system: System,
        name: str,
        total: int,
        *,
        grader: dict | None = None,
        limits: dict | None = None,
        retry: dict | None = None,
        hostile: bool = False,
        batch: int = 100,
        pace: float | None = None,
        max_batch: int = 20,
        supports_async: bool = False,
    ) -> None:
        self.system, self.total = system, total
        self.name = f"{name.replace(' ', '-').replace('/', '-')}-{next(_number)}"
        self.port = system.hostile_port if hostile else system.grader_port
        self.journal = system.journals["hostile" if hostile else "graders"]
        self.api = Api(system.url, system.key)
        self.control(max_batch=max_batch, supports_async=supports_async)
        registration = self.api.need(
            201, "POST", "/graders", self._grader_body(max_batch, supports_async, limits or {})
        )
        self.grader_id = registration["grader"]["id"]
        self.control(secret=registration["credentials"]["sharedSecret"])
        verified = self.api.need(200, "POST", f"/graders/{self.grader_id}/verify", {})
        if not verified["verified"]:
            raise SupervisorError(f"the grader {name} was not verified: {verified}")
        self.control(**(grader or {}))
        task = {"name": self.name, "promptTemplate": "{{prompt}}", "graderId": self.grader_id}
        if retry:
            task["retry"] = retry
        self.task = self.api.need(201, "POST", "/tasks", task)["id"]
        self.submitter = Submitter(system.url, system.key, self.task, total, batch=batch, pace=pace)
        self._counts: dict[str, int] = {}
        self._next = 0.0

    def _grader_body(self, max_batch: int, supports_async: bool, limits: dict) -> dict:
        return {
            "name": self.name,
            "endpoint": f"http://127.0.0.1:{self.port}/g/{self.name}",
            "capabilities": {"maxBatchSize": max_batch, "supportsAsync": supports_async},
            "limits": limits,
        }

    def control(self, **members) -> dict:
        return control(self.port, self.name, **members)

    def counts(self) -> dict[str, int]:
        """Runs by status; looked up a few times a second at most."""
        if time.monotonic() >= self._next:
            rows = self.system.database.rows(
                "select status, count(*) from scores_workflowrun where task_id = %s group by status",
                ids.decode("task", self.task),
            )
            self._counts, self._next = dict(rows), time.monotonic() + LOOK_S
        return self._counts

    @property
    def final(self) -> int:
        counts = self.counts()
        return counts.get("completed", 0) + counts.get("failed", 0)

    @property
    def done(self) -> bool:
        return self.submitter.done and self.final >= len(self.submitter.expected)

    def until_done(
        self, step: Callable[[], None] = lambda: None, *, watch: Watch | None = None, patience_s: float = PATIENCE_S
    ) -> float:
        """Let it run, with `step` again and again, until every run is final or patience ends; seconds."""
        began = time.monotonic()
        while not self.done and time.monotonic() - began < patience_s:
            self.breathe(step, watch)
        return time.monotonic() - began

    def breathe(self, step: Callable[[], None] = lambda: None, watch: Watch | None = None) -> None:
        self.system.keeper.check()
        step()
        if watch:
            watch.step()
        time.sleep(STEP_S)

    def check(self, *, codes: tuple[str, ...] = ()) -> Findings:
        self.submitter.stop()
        return check(self.system.database, self.task, self.submitter.expected, self.book(), codes=codes)

    def book(self) -> journal.Book:
        return journal.read([self.journal], self.name)
