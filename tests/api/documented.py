"""The documented operations, from docs/openapi.json, and a right request for each of them."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.factories import public

FILE = Path(__file__).resolve().parents[2] / "docs/openapi.json"
PREFIX = "/api/v1"
JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Documented:
    """One operation of the document."""

    method: str
    path: str
    described: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def ids(self) -> list[str]:
        """The names of the ids in its path."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def has_body(self) -> bool:
        return "requestBody" in self.described

    @property
    def needs_key(self) -> bool:
        return bool(self.described["security"])

    def url(self, ids: dict[str, str]) -> str:
        return self.path.format(**ids)


def load() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


OPERATIONS = [
    Documented(method.upper(), path.removeprefix(PREFIX), described)
    for path, methods in load()["paths"].items()
    for method, described in methods.items()
]


@dataclass
class World:
    """An organization with one object of each kind, and its client."""

    api: Any
    grader: Any
    task: Any
    completion: Any
    score: Any
    spare_grader: Any
    spare_task: Any

    @property
    def ids(self) -> dict[str, str]:
        return {
            "grader_id": public("grader", self.grader),
            "task_id": public("task", self.task),
            "completion_id": public("comp", self.completion),
            "score_id": public("score", self.score),
        }


@dataclass(frozen=True)
class Call:
    """A right request. `body` and `ids` are made from the world; `repeat` sends it so often, the last one counts."""

    body: Callable[[World], Any] | None = None
    query: str = ""
    ids: Callable[[World], dict[str, str]] = lambda world: {}
    known: bool = False  # with the ETag of an earlier answer
    repeat: int = 1

    def url(self, operation: Documented, world: World) -> str:
        return operation.url({**world.ids, **self.ids(world)}) + self.query


def submission(world: World, **members: Any) -> dict[str, Any]:
    return {
        "taskId": public("task", world.task), "modelId": "m", "response": "r", "prompt": "p", "priority": "low",
        "metadata": {"a": [1]}, **members,
    }  # fmt: skip


def new_grader(world: World) -> dict[str, Any]:
    return {"name": "New", "endpoint": "https://new.example.org/v1", "capabilities": {"domains": ["law"]}}


def new_task(world: World) -> dict[str, Any]:
    panel = [{"graderId": public("grader", world.grader), "weight": 0.5}]
    model = {"provider": "p", "name": "m", "params": {"temperature": 0}}
    return {"name": "New", "promptTemplate": "{{q}}", "graders": panel, "model": model, "retry": {"maxAttempts": 2}}


def spare(world: World) -> dict[str, str]:
    return {"grader_id": public("grader", world.spare_grader), "task_id": public("task", world.spare_task)}


PLAIN, KNOWN = Call(), Call(known=True)
LISTED = [PLAIN, Call(query="?limit=1&offset=0"), Call(query="?sort=-createdAt")]
CALLS: dict[str, list[Call]] = {
    "GET /health": [PLAIN],
    "GET /ready": [PLAIN],
    "GET /schema": [PLAIN],
    "GET /docs": [PLAIN],
    "GET /graders": [*LISTED, Call(query="?status=active&kind=endpoint&visibility=private")],
    "POST /graders": [Call(new_grader)],
    "GET /graders/{grader_id}": [PLAIN],
    "PATCH /graders/{grader_id}": [
        Call(lambda world: {"description": "d", "limits": {"maxConcurrency": 3}}),
        Call(lambda world: {"endpoint": "https://moved.example.org"}),
    ],
    "DELETE /graders/{grader_id}": [Call(ids=spare)],
    "POST /graders/{grader_id}/verify": [PLAIN],
    "POST /graders/{grader_id}/rotate-secret": [Call(lambda world: {"graceHours": 1, "force": True})],
    "GET /graders/{grader_id}/stats": [PLAIN, Call(query="?window=all")],
    "GET /graders/{grader_id}/health": [PLAIN],
    "GET /graders/{grader_id}/versions": [PLAIN],
    "GET /tasks": [*LISTED, Call(query="?archived=true")],
    "POST /tasks": [Call(new_task)],
    "GET /tasks/{task_id}": [PLAIN],
    "PATCH /tasks/{task_id}": [Call(lambda world: {"systemPrompt": "Be brief.", "model": "m", "description": None})],
    "DELETE /tasks/{task_id}": [Call(ids=spare), Call(query="?archive=true")],
    "GET /tasks/{task_id}/versions": [PLAIN],
    "GET /completions": [*LISTED, Call(query="?status=completed&source=api")],
    "POST /completions": [
        Call(submission),
        Call(lambda world: submission(world, prompt=None, messages=[{"role": "user", "content": "c"}])),
        Call(lambda world: submission(world, externalId="x"), repeat=2),
    ],
    "POST /completions/batch": [
        Call(lambda world: {"completions": [submission(world), submission(world, externalId="y")]}, repeat=2),
        Call(lambda world: {"completions": [submission(world), submission(world, prompt=None)]}, query="?partial=true"),
    ],
    "GET /completions/{completion_id}": [PLAIN, KNOWN],
    "GET /completions/{completion_id}/score": [PLAIN, Call(query="?wait=1"), KNOWN],
    "GET /scores": [*LISTED, Call(query="?minScore=0&maxScore=1")],
    "GET /scores/{score_id}": [PLAIN, KNOWN],
    "GET /scores/summary": [PLAIN, Call(query="?minScore=1")],
    "GET /scores/export": [
        PLAIN,
        Call(query="?format=parquet&dimensions=true"),
        Call(query="?per=grader&naming=camel"),
    ],
}
