"""The documented operations, from docs/openapi.json, and a right request for each of them."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.factories import (
    CallbackFactory,
    CompletionFactory,
    ExportFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    WebhookFactory,
    public,
)
from tests.support.calling_back import signature

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

    @property
    def takes_idempotency_key(self) -> bool:
        return any(parameter["name"] == "Idempotency-Key" for parameter in self.described.get("parameters", ()))

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
    delivery: Any
    review: Any
    spare_key: Any
    member: Any
    role: Any
    erasure: Any
    hold: Any
    reward_endpoint: Any
    event: Any
    export: Any

    @property
    def ids(self) -> dict[str, str]:
        return {
            "grader_id": public("grader", self.grader),
            "task_id": public("task", self.task),
            "completion_id": public("comp", self.completion),
            "score_id": public("score", self.score),
            "run_id": public("run", self.score.run),
            "webhook_id": public("whk", self.delivery.webhook),
            "delivery_id": public("dlv", self.delivery),
            "review_id": public("rev", self.review),
            "organization_id": public("org", self.task.organization),
            "member_id": self.member.public_id,
            "role_id": public("role", self.role),
            "key_id": public("key", self.spare_key),
            "erasure_id": public("ers", self.erasure),
            "hold_id": public("hold", self.hold),
            "endpoint_id": public("rwd", self.reward_endpoint),
            "protocol": "openrlhf",
            "export_id": public("exp", self.export),
            "event_id": self.event.public_id,
            "token": "no-such-token",
        }


@dataclass(frozen=True)
class Call:
    """A right request. `body`, `ids` and `headers` are made from the world; `repeat` sends it so often, the last one
    counts."""

    body: Callable[[World], Any] | None = None
    query: str = ""
    ids: Callable[[World], dict[str, str]] = lambda world: {}
    with_etag: bool = False  # with the ETag of an earlier answer
    repeat: int = 1
    headers: Callable[[World], dict[str, str]] = lambda world: {}

    def url(self, operation: Documented, world: World) -> str:
        return operation.url({**world.ids, **self.ids(world)}) + self.query


def submission(world: World, **members: Any) -> dict[str, Any]:
    return {
        "taskId": public("task", world.task), "modelId": "m", "response": "r", "prompt": "p", "priority": "low",
        "metadata": {"a": [1]}, **members,
    }  # fmt: skip


def reward_request(world: World, **members: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "c"}]
    items = [{"prompt": "p", "response": "r", "metadata": {"label": "4"}}, {"messages": messages, "response": "r"}]
    return {"taskId": public("task", world.task), "modelId": "m", "items": items, "deadlineMs": 1, **members}


def new_grader(world: World) -> dict[str, Any]:
    return {"name": "New", "endpoint": "https://new.example.org/v1", "capabilities": {"domains": ["law"]}}


def new_task(world: World) -> dict[str, Any]:
    panel = [{"graderId": public("grader", world.grader), "weight": 0.5}]
    model = {"provider": "p", "name": "m", "params": {"temperature": 0}}
    return {"name": "New", "promptTemplate": "{{q}}", "graders": panel, "model": model, "retry": {"maxAttempts": 2}}


def new_role(world: World) -> dict[str, Any]:
    reads = {"resource": "tasks", "actions": ["read"], "scope": "organization"}
    return {"name": "task reader", "description": "d", "permissions": [reads]}


def new_key(world: World) -> dict[str, Any]:
    return {"name": "trainer", "role": "reviewer", "expiresAt": "2999-01-01", "networks": ["::1"], "kind": "test"}


def new_completion(world: World) -> dict[str, str]:
    return {"completion_id": public("comp", CompletionFactory(task=world.task))}


def new_score(world: World) -> dict[str, str]:
    return {"score_id": public("score", ScoreFactory(run__completion__task=world.task))}


def spare(world: World) -> dict[str, str]:
    return {"grader_id": public("grader", world.spare_grader), "task_id": public("task", world.spare_task)}


def run(status: str) -> Callable[[World], dict[str, str]]:
    """The id of a new run of this status."""

    def new_run(world: World) -> dict[str, str]:
        completion = CompletionFactory(task=world.spare_task)
        return {"run_id": public("run", RunFactory(completion=completion, status=status, error_code="timeout"))}

    return new_run


def new_review(world: World) -> dict[str, str]:
    return {"review_id": public("rev", ReviewFactory(run__completion__task=world.task))}


def pair_request(world: World, **members: Any) -> dict[str, Any]:
    return {"taskId": public("task", world.task), "minScoreDelta": 0.1, "sampleSize": 10, **members}


def late_answer(world: World) -> dict[str, Any]:
    return {"requestId": "late", "score": {"value": 1, "confidence": 1}}


def new_callback(world: World) -> dict[str, str]:
    """The token of an accepted request that waits for its answer."""
    run = RunFactory(completion__task=world.task, status="waiting", waits_for="callback", attempt=1)
    CallbackFactory(run=run, token="token", request_id="late")
    return {"token": "token"}


def signed_late(world: World) -> dict[str, str]:
    return signature("late", json.dumps(late_answer(world)).encode())


def new_export(world: World) -> dict[str, str]:
    return {"export_id": public("exp", ExportFactory(organization=world.task.organization))}


def new_link(world: World) -> dict[str, str]:
    answer = world.api.post(f"/exports/{public('exp', world.export)}/links", {})
    return {"token": answer.json()["url"].rpartition("/")[2]}


def new_reward_endpoint(world: World) -> dict[str, Any]:
    return {"taskId": public("task", world.task), "protocol": "slime", "unscored": "neutral", "neutralValue": 0}


def call_of_a_trainer(world: World) -> dict[str, Any]:
    return {"query": ["2+2? 4"], "prompts": ["2+2?"], "labels": ["4"]}


def new_webhook(world: World) -> dict[str, Any]:
    return {"url": "https://hooks.example.org/in?token=t", "events": ["score.completed"], "description": "d"}


def spare_webhook(world: World) -> dict[str, str]:
    return {"webhook_id": public("whk", WebhookFactory(organization=world.delivery.webhook.organization))}


PLAIN, KNOWN = Call(), Call(with_etag=True)
LISTED = [PLAIN, Call(query="?limit=1&offset=0"), Call(query="?sort=-createdAt")]
CALLS: dict[str, list[Call]] = {
    "GET /health": [PLAIN],
    "GET /ready": [PLAIN],
    "GET /moving": [PLAIN],
    "GET /metrics": [PLAIN],
    "GET /schema": [PLAIN],
    "GET /docs": [PLAIN],
    "GET /organizations": [PLAIN, Call(query="?sort=-name&limit=1")],
    "POST /organizations": [Call(lambda world: {"name": "Another"})],
    "GET /organizations/{organization_id}": [PLAIN],
    "PATCH /organizations/{organization_id}": [
        Call(lambda world: {"name": "Renamed", "retention": {"textDays": 30, "scoreDays": None}})
    ],
    "GET /members": [*LISTED, Call(query="?status=active")],
    "POST /members": [Call(lambda world: {"email": "new@example.org", "role": "reviewer"}, repeat=2)],
    "GET /members/{member_id}": [PLAIN],
    "PATCH /members/{member_id}": [Call(lambda world: {"role": "training_operator"})],
    "DELETE /members/{member_id}": [PLAIN],
    "GET /roles": [*LISTED, Call(query="?sort=name")],
    "POST /roles": [Call(new_role)],
    "GET /roles/{role_id}": [PLAIN],
    "PATCH /roles/{role_id}": [Call(lambda world: {"description": None, "name": "renamed"})],
    "DELETE /roles/{role_id}": [PLAIN],
    "GET /api-keys": [*LISTED, Call(query="?status=usable")],
    "POST /api-keys": [Call(new_key)],
    "GET /api-keys/{key_id}": [PLAIN],
    "PATCH /api-keys/{key_id}": [Call(lambda world: {"name": "renamed", "networks": ["192.0.2.0/24"]})],
    "DELETE /api-keys/{key_id}": [PLAIN],
    "POST /api-keys/{key_id}/revoke": [PLAIN],
    "POST /api-keys/{key_id}/rotate": [Call(lambda world: {"graceHours": 1})],
    "GET /audit-events": [PLAIN, Call(query="?limit=1"), Call(query="?outcome=succeeded&sort=at")],
    "GET /audit-events/{event_id}": [PLAIN],
    "GET /audit-events/export": [PLAIN, Call(query="?format=csv")],
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
    "POST /graders/{grader_id}/health": [PLAIN],
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
    "DELETE /completions/{completion_id}": [Call(ids=new_completion)],
    "POST /rewards": [Call(reward_request), Call(lambda world: reward_request(world, fresh=True, modelId=None))],
    "GET /erasures": [*LISTED, Call(query="?status=pending")],
    "POST /erasures": [Call(lambda world: {"taskId": public("task", world.spare_task)})],
    "GET /erasures/{erasure_id}": [PLAIN],
    "GET /legal-holds": [*LISTED, Call(query="?active=true")],
    "POST /legal-holds": [Call(lambda world: {"reason": "Case 12", "modelId": "m"})],
    "GET /legal-holds/{hold_id}": [PLAIN],
    "DELETE /legal-holds/{hold_id}": [PLAIN],
    "GET /completions/{completion_id}/score": [PLAIN, Call(query="?wait=1"), KNOWN],
    "POST /completions/{completion_id}/rescore": [PLAIN],
    "GET /workflow-runs": [*LISTED, Call(query="?status=completed&code=timeout")],
    "GET /workflow-runs/{run_id}": [PLAIN, Call(ids=run("failed"))],
    "POST /workflow-runs/{run_id}/retry": [Call(ids=run("failed"))],
    "POST /workflow-runs/{run_id}/cancel": [Call(ids=run("running"))],
    "POST /workflow-runs/retry": [Call(lambda world: {"code": "timeout", "status": "failed"})],
    "GET /reviews": [*LISTED, Call(query="?status=open&sort=expiresAt")],
    "GET /reviews/{review_id}": [PLAIN],
    "POST /reviews/{review_id}/claim": [PLAIN],
    "POST /reviews/{review_id}/decision": [
        Call(lambda world: {"approved": True, "value": 0.5, "explanation": "Right."}),
        Call(lambda world: {"approved": True}, ids=new_review),
        Call(lambda world: {"approved": False}, ids=new_review),
    ],
    "POST /callbacks/{token}": [Call(late_answer, ids=new_callback, headers=signed_late)],
    "GET /reward-endpoints": [*LISTED, Call(query="?protocol=openrlhf")],
    "POST /reward-endpoints": [Call(new_reward_endpoint)],
    "GET /reward-endpoints/{endpoint_id}": [PLAIN],
    "PATCH /reward-endpoints/{endpoint_id}": [
        Call(lambda world: {"unscored": "hold", "neutralValue": None, "deadlineMs": 1_000, "enabled": True})
    ],
    "DELETE /reward-endpoints/{endpoint_id}": [PLAIN],
    "POST /reward-endpoints/{endpoint_id}/rotate": [PLAIN],
    "POST /rewards/{protocol}/{token}": [
        Call(call_of_a_trainer, ids=lambda world: {"token": world.reward_endpoint.token})
    ],
    "GET /webhooks": [*LISTED, Call(query="?status=active")],
    "POST /webhooks": [Call(new_webhook)],
    "GET /webhooks/{webhook_id}": [PLAIN],
    "PATCH /webhooks/{webhook_id}": [
        Call(lambda world: {"description": None, "status": "active", "events": ["review.requested"]}),
        Call(lambda world: {"url": "https://moved.example.org/in"}, ids=spare_webhook),
    ],
    "DELETE /webhooks/{webhook_id}": [Call(ids=spare_webhook)],
    "POST /webhooks/{webhook_id}/rotate-secret": [Call(lambda world: {"force": True}), Call(ids=spare_webhook)],
    "POST /webhooks/{webhook_id}/test": [PLAIN],
    "GET /webhooks/{webhook_id}/deliveries": [*LISTED, Call(query="?status=pending")],
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": [PLAIN],
    "GET /scores": [*LISTED, Call(query="?minScore=0&maxScore=1")],
    "GET /scores/{score_id}": [PLAIN, KNOWN],
    "DELETE /scores/{score_id}": [Call(ids=new_score)],
    "GET /scores/summary": [PLAIN, Call(query="?minScore=1")],
    "GET /exports": [*LISTED, Call(query="?status=completed")],
    "POST /exports": [Call(lambda world: {"taskId": public("task", world.task), "format": "parquet", "minReward": 0})],
    "GET /exports/{export_id}": [PLAIN],
    "POST /exports/{export_id}/cancel": [Call(ids=new_export)],
    "GET /exports/{export_id}/download": [
        PLAIN,
        KNOWN,
        Call(query="?file=records.jsonl", headers=lambda world: {"Range": "bytes=0-4"}),
    ],
    "POST /exports/{export_id}/links": [Call(lambda world: {"file": "records.jsonl", "expiresInS": 60}), PLAIN],
    "GET /downloads/{token}": [
        Call(ids=new_link),
        Call(ids=new_link, with_etag=True),
        Call(ids=new_link, headers=lambda world: {"Range": "bytes=0-4"}),
    ],
    "POST /preference-pairs": [
        Call(pair_request),
        Call(lambda world: pair_request(world, modelId="m", strategy="random", capPerPrompt=2, seed=7)),
    ],
    "GET /scores/export": [
        PLAIN,
        Call(query="?format=parquet&dimensions=true"),
        Call(query="?per=grader&naming=camel"),
        Call(query="?format=tfrecord&compression=gzip"),
        Call(query="?format=json&layout=preferences&conversational=true&compression=zstd"),
    ],
}
