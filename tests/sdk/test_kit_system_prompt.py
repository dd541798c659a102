"""A grader of the kit receives the system prompt of the task, whichever server runs it."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from autotune_sdk.grader import Completion, Grader, Work, protocol
from autotune_sdk.grader.asgi import application

SECRET = "atgs_" + "s" * 43
RULE = "Answer with one number."
USER = {"role": "user", "content": "2+2?"}


@pytest.fixture
def seen() -> list[Completion]:
    return []


@pytest.fixture
def grader(seen: list[Completion]) -> Grader:
    kit_grader = Grader("g", "1", secret=SECRET)

    @kit_grader.score
    def score(completion: Completion) -> float:
        seen.append(completion)
        return 0.5

    return kit_grader


def request(**completion: Any) -> tuple[bytes, dict[str, str]]:
    body = json.dumps({"requestId": "r-1", "completion": {"id": "comp_1", "response": "4", **completion}}).encode()
    return body, protocol.sign_request(SECRET, body, "r-1")


def test_c18_a_scoring_function_reads_the_system_prompt(grader: Grader, seen: list[Completion]) -> None:
    body, headers = request(prompt="2+2?", systemPrompt=RULE)
    assert grader.handle("POST", "/score", headers.items(), body).status == 200
    (completion,) = seen
    assert completion.system_prompt == RULE
    assert completion.conversation == [{"role": "system", "content": RULE}, USER]


@pytest.mark.parametrize(
    ("facts", "conversation"),
    [
        ({"prompt": "2+2?"}, [USER]),
        ({"prompt": "2+2?", "systemPrompt": None}, [USER]),
        ({"prompt": "2+2?", "messages": [{"role": "system", "content": "x"}, USER]}, [{"role": "system", "content": "x"}, USER]),
        ({"prompt": "2+2?", "messages": [USER], "systemPrompt": RULE}, [{"role": "system", "content": RULE}, USER]),
    ],
)  # fmt: skip
def test_c18_the_conversation_includes_all_that_the_response_answers(
    grader: Grader, seen: list[Completion], facts: dict[str, Any], conversation: list[dict[str, Any]]
) -> None:
    body, headers = request(**facts)
    assert grader.handle("POST", "/score", headers.items(), body).status == 200
    assert seen[0].conversation == conversation


@pytest.mark.parametrize("value", [1, [], {"text": RULE}, True])
def test_c18_a_system_prompt_that_is_not_text_is_refused_by_name(grader: Grader, value: Any) -> None:
    body, headers = request(systemPrompt=value)
    answer = grader.handle("POST", "/score", headers.items(), body)
    assert (answer.status, json.loads(answer.body)["error"]) == (400, "completion.systemPrompt must be text")


def test_c18_asgi_and_batches_include_the_system_prompt(grader: Grader, seen: list[Completion]) -> None:
    items = [{"id": f"comp_{n}", "response": "4", "systemPrompt": RULE} for n in range(2)]
    body = json.dumps({"requestId": "r-1", "completions": items}).encode()
    headers = protocol.sign_request(SECRET, body, "r-1")
    scope = {
        "type": "http", "method": "POST", "path": "/score/batch",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        + [(b"content-length", str(len(body)).encode())],
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await application(grader)(scope, receive, send)

    asyncio.run(run())
    assert sent[0]["status"] == 200
    assert [completion.system_prompt for completion in seen] == [RULE, RULE]


def test_c18_work_stored_for_later_keeps_the_system_prompt() -> None:
    kept: list[str] = []
    grader = Grader("g", "1", secret=SECRET)
    grader.score(lambda completion: 0.5)
    grader.later(lambda work: kept.append(work.to_json()))
    data = {
        "requestId": "r-1", "completion": {"id": "comp_1", "response": "4", "systemPrompt": RULE},
        "callbackUrl": "https://autotune.example/c", "callbackExpiresAt": "2026-12-05T01:02:03Z",
    }  # fmt: skip
    body = json.dumps(data).encode()
    assert grader.handle("POST", "/score", protocol.sign_request(SECRET, body, "r-1").items(), body).status == 202
    work = Work.from_json(kept[0])
    assert work.completions[0].system_prompt == RULE
    older = json.loads(kept[0])
    del older["completions"][0]["system_prompt"]  # as an earlier release of the kit stored it
    assert Work.from_json(json.dumps(older)).completions[0].system_prompt is None


def test_c18_the_kit_reads_the_published_vector() -> None:
    from tests.sdk.test_kit_protocol import SECRETS, VECTORS

    vector = next(candidate for candidate in VECTORS["signing"] if candidate["id"] == "sign-14-system-prompt")
    body = base64.b64decode(vector["body_base64"])
    grader, completions = grader_of(SECRETS[vector["secret"]])
    headers = protocol.sign_request(SECRETS[vector["secret"]], body, vector["request_id"])
    assert grader.handle("POST", "/score", headers.items(), body).status == 200
    assert completions[0].system_prompt == "Answer with one number.\nNo words: café ≠ 4."


def grader_of(secret: str) -> tuple[Grader, list[Completion]]:
    seen: list[Completion] = []
    kit_grader = Grader("g", "1", secret=secret)
    kit_grader.score(lambda completion: seen.append(completion) or 0.5)
    return kit_grader, seen
