"""The client: shapes, errors, retries, batches, exports."""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import autotune_sdk
import pytest
from autotune_sdk import _batching, _wire
from autotune_sdk._transport import retry_after_s

KEY = "at_test_00000000000000000000000000_secret"
BUSY = (503, {"Retry-After": "7"}, b"{}")


def item(number: int, **more: Any) -> dict[str, Any]:
    return {"model_id": "m", "prompt": "p", "response": f"r{number}", **more}


def test_it_reads_its_key_and_address_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOTUNE_API_KEY", KEY)
    monkeypatch.setenv("AUTOTUNE_BASE_URL", "https://a.example/api/v1/")
    client = autotune_sdk.AutotuneClient()
    assert client._transport.root == "https://a.example/api/v1"
    assert KEY not in repr(client) + repr(vars(client._transport)) + repr(client._transport._auth)


@pytest.mark.parametrize(
    "arguments", [{"api_key": ""}, {"api_key": "a b"}, {"api_key": "k", "base_url": "ftp://x"},
                  {"api_key": "k", "base_url": "http://u:p@x"}, {"api_key": "k", "base_url": "http://x?y=1"}]
)  # fmt: skip
def test_an_invalid_configuration_is_refused_at_once(
    arguments: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AUTOTUNE_API_KEY", raising=False)
    with pytest.raises(autotune_sdk.ConfigurationError) as caught:
        autotune_sdk.AutotuneClient(**arguments)
    assert "u:p" not in str(caught.value)


def test_the_key_is_sent_as_a_bearer_and_never_logged(
    fake: Any, client: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with caplog.at_level(logging.DEBUG):
        client.tasks.get("task_00000000000000000000000001")
    assert fake.requests[0][3]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text


def test_a_task_is_typed_and_json_of_users_is_untouched(client: Any, task_id: str) -> None:
    task = client.tasks.get(task_id)
    assert task.graders == (autotune_sdk.PanelMember("grader_1", 1, "scoring"),)
    assert (task.retry.max_attempts, task.review, task.retention.text_days) == (5, None, None)
    assert task.metadata == {"snake_case": {"camelCase": None}}
    assert task.response_schema == {"some_key": 1}
    assert task.created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (task.run_count, task.recent_runs) == (0, ())


def test_structures_go_out_in_camel_case_and_none_clears_on_update(fake: Any, client: Any) -> None:
    answer = client.tasks.get("task_00000000000000000000000001")
    fake.script += [fake.ok({"id": answer.id, "task": json.loads(json.dumps({"id": "t"}))}, 201)] * 1
    panel = [autotune_sdk.PanelMember("g1", 0.5), {"grader_id": "g2", "part": "shadow"}]
    client.tasks.create(
        name="n",
        prompt_template="{{q}}",
        graders=panel,
        retry={"max_attempts": 2},
        metadata={"a_b": 1},
        description=None,
    )
    assert json.loads(fake.requests[-1][4]) == {
        "name": "n",
        "promptTemplate": "{{q}}",
        "graders": [{"graderId": "g1", "weight": 0.5, "part": "scoring"}, {"graderId": "g2", "part": "shadow"}],
        "retry": {"maxAttempts": 2},
        "metadata": {"a_b": 1},
    }
    fake.script.append(fake.ok({"task": {"id": "t"}}))
    client.tasks.update("task_1", description=None, deadline_ms=5)
    assert json.loads(fake.requests[-1][4]) == {"description": None, "deadlineMs": 5}


def test_a_grader_is_registered_and_its_secret_stays_out_of_repr(fake: Any, client: Any) -> None:
    fake.script.append(
        fake.ok({"grader": {"id": "grader_1", "name": "g", "capabilities": {"maxBatchSize": 5, "domains": ["x"]}},
                 "credentials": {"graderId": "grader_1", "sharedSecret": "atgs_abc"}}, 201)
    )  # fmt: skip
    registration = client.graders.create(
        name="g", endpoint="http://x", capabilities=autotune_sdk.Capabilities(max_batch_size=5, domains=("x",))
    )
    assert json.loads(fake.requests[-1][4]) == {
        "name": "g", "endpoint": "http://x", "capabilities": {"maxBatchSize": 5, "domains": ["x"]}
    }  # fmt: skip
    assert registration.credentials.shared_secret == "atgs_abc"
    assert "atgs_abc" not in repr(registration)
    assert registration.grader.capabilities.domains == ("x",)
    assert registration.grader.limits is None


def test_a_problem_becomes_a_typed_error(fake: Any, client: Any) -> None:
    errors = [{"pointer": "/name", "code": "required", "detail": "is needed"}]
    fake.script.append(fake.problem(400, "invalid_request", "the request is invalid", errors))
    with pytest.raises(autotune_sdk.InvalidRequest) as caught:
        client.tasks.update("task_1", name="")
    error = caught.value
    assert (error.status, error.code, error.request_id) == (400, "invalid_request", "req-9")
    assert error.errors == (autotune_sdk.FieldError("/name", "required", "is needed"),)
    assert "/name" in str(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "AuthenticationError"), (403, "PermissionDenied"), (404, "NotFound"), (409, "ConflictError"),
     (413, "InvalidRequest"), (422, "InvalidRequest"), (500, "ServerError"), (418, "APIError")],
)  # fmt: skip
def test_each_status_has_its_class_even_without_problem_json(fake: Any, client: Any, status: int, kind: str) -> None:
    fake.script.append((status, {"Content-Type": "text/html"}, b"<h1>oh</h1>"))
    with pytest.raises(autotune_sdk.APIError) as caught:
        client.tasks.get("task_1")
    assert type(caught.value).__name__ == kind
    assert caught.value.code == f"http_{status}"
    assert caught.value.request_id == "req-1"


def test_a_get_is_retried_as_the_server_requests(fake: Any, client: Any, task_id: str) -> None:
    fake.script += [BUSY, None, (429, {}, b"{}")]
    assert client.tasks.get(task_id).id == task_id
    assert len(fake.requests) == 4
    assert 7 <= client._transport.naps[0] <= 7.25
    assert client._transport.naps[1] <= 1


def test_retries_end(fake: Any, client: Any) -> None:
    fake.script += [BUSY] * 9
    with pytest.raises(autotune_sdk.ServerError) as caught:
        client.tasks.get("task_1")
    assert caught.value.attempts == len(fake.requests) == 4


def keys(fake: Any) -> list[str | None]:
    return [headers.get("Idempotency-Key") for *_, headers, _ in fake.requests]


def test_a_submission_has_a_key_of_its_own_and_keeps_it_when_it_is_repeated(
    fake: Any, client: Any, task_id: str
) -> None:
    fake.script += [None, (502, {}, b"")]
    client.completions.submit(task_id=task_id, **item(1))
    client.completions.submit(task_id=task_id, **item(1))
    first, second, third, other = keys(fake)
    assert first == second == third != other
    assert first
    assert other


def test_a_custom_key_is_sent_unchanged(fake: Any, client: Any, task_id: str) -> None:
    fake.script.append(None)
    client.completions.submit(task_id=task_id, idempotency_key="k", **item(2))
    client.completions.submit_batch([item(1)], task_id=task_id, idempotency_key="b")
    assert keys(fake) == ["k", "k", "b"]


def test_each_request_of_a_split_batch_has_its_own_key(
    fake: Any, client: Any, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batching, "MAX_ITEMS", 2)
    fake.script.append(None)
    sent = client.completions.submit_batch((item(n) for n in range(5)), task_id=task_id)
    assert len(sent.ids) == 5
    first, again, second, third = keys(fake)
    assert first == again
    assert (second, third) == (f"{first}-1", f"{first}-2")


def test_an_earlier_attempt_in_flight_is_asked_for_its_response(fake: Any, client: Any, task_id: str) -> None:
    status, headers, body = fake.problem(409, "idempotency_in_flight", "at work")
    fake.script += [None, (status, {**headers, "Retry-After": "1"}, body)]
    assert client.completions.submit(task_id=task_id, **item(1)).completion.id
    assert len(set(keys(fake))) == 1
    assert 1 <= client._transport.naps[-1] <= 1.25


def test_another_conflict_and_a_key_that_was_used_for_something_else_are_not_repeated(
    fake: Any, client: Any, task_id: str
) -> None:
    fake.script += [fake.problem(409, "conflict", "c"), fake.problem(422, "idempotency_key_reused", "r")]
    with pytest.raises(autotune_sdk.ConflictError):
        client.completions.submit(task_id=task_id, **item(1))
    with pytest.raises(autotune_sdk.InvalidRequest):
        client.completions.submit(task_id=task_id, **item(1))
    assert len(fake.requests) == 2


def test_a_request_without_a_key_is_retried_only_if_it_was_not_processed(fake: Any, client: Any, task_id: str) -> None:
    fake.script.append((429, {"Retry-After": "0"}, b""))  # throttled
    client.tasks.create(name="n", prompt_template="{{q}}", grader_id="g")
    fake.script.append(None)
    with pytest.raises(autotune_sdk.ConnectionFailed):
        client.tasks.create(name="n", prompt_template="{{q}}", grader_id="g")
    assert keys(fake) == [None] * 3


def test_a_closed_port_is_a_connection_error() -> None:
    with autotune_sdk.AutotuneClient(KEY, "http://127.0.0.1:9", max_retries=1) as client:
        client._transport.sleep = lambda seconds: None
        with pytest.raises(autotune_sdk.ConnectionFailed) as caught:
            client.completions.submit(task_id="t", **item(1))
        assert caught.value.attempts == 2


def test_an_answer_that_does_not_come_is_a_timeout(httpserver: Any) -> None:
    import time

    httpserver.expect_request("/api/v1/tasks/task_1").respond_with_handler(lambda request: time.sleep(0.5))
    client = autotune_sdk.AutotuneClient(KEY, httpserver.url_for("/"), timeout_s=0.1, max_retries=0)
    with client, pytest.raises(autotune_sdk.RequestTimeout):
        client.tasks.get("task_1")


def test_a_redirect_is_not_followed(fake: Any, client: Any) -> None:
    fake.script.append((301, {"Location": "https://elsewhere.example/"}, b""))
    with pytest.raises(autotune_sdk.APIError, match="elsewhere"):
        client.tasks.get("task_1")
    assert len(fake.requests) == 1


def test_a_delete_with_a_lost_response_succeeds(fake: Any, client: Any) -> None:
    fake.script += [None, fake.problem(404, "not_found", "gone")]
    client.graders.delete("grader_1")
    with pytest.raises(autotune_sdk.NotFound):
        client.graders.delete("grader_1")


def test_an_id_cannot_change_the_path(fake: Any, client: Any) -> None:
    with pytest.raises(autotune_sdk.NotFound):
        client.tasks.get("../scores?x")
    assert fake.requests[0][1] == "/tasks/..%2Fscores%3Fx"
    with pytest.raises(ValueError):
        client.tasks.get("..")


def test_a_batch_keeps_order_and_fills_in_task_and_model(fake: Any, client: Any, task_id: str) -> None:
    sent = client.completions.submit_batch(
        ({"prompt": "p", "response": str(n), "external_id": f"e{n}", "metadata": {"n_n": n}} for n in range(3)),
        task_id=task_id, model_id="m", priority="low",
    )  # fmt: skip
    body = json.loads(fake.requests[0][4])
    assert body["priority"] == "low"
    assert body["completions"][2]["metadata"] == {"n_n": 2}
    assert [i.external_id for i in sent.completions] == ["e0", "e1", "e2"]
    assert [i.index for i in sent.completions] == [0, 1, 2]
    assert not sent.completions[0].existing
    again = client.completions.submit_batch([item(9, external_id="e1", task_id=task_id)])
    assert again.completions[0].existing
    assert again.ids == [sent.ids[1]]


def test_a_large_batch_is_split_by_count_and_by_size(
    fake: Any, client: Any, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batching, "MAX_ITEMS", 3)
    sent = client.completions.submit_batch([item(n) for n in range(7)], task_id=task_id)
    assert [len(json.loads(r[4])["completions"]) for r in fake.requests] == [3, 3, 1]
    assert [i.index for i in sent.completions] == list(range(7))
    monkeypatch.setattr(_batching, "MAX_BODY", 1000)
    fake.requests.clear()
    client.completions.submit_batch([item(n, metadata={"x": "é" * 150}) for n in range(4)], task_id=task_id)
    assert [len(r[4]) <= 1000 for r in fake.requests] == [True, True]
    assert list(_batching.split([], {}, None)) == []


def test_an_error_in_a_later_request_points_at_the_whole_sequence(
    client: Any, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_batching, "MAX_ITEMS", 2)
    items = [item(1), item(2), item(3), {**item(4), "response": "refuse"}]
    with pytest.raises(autotune_sdk.InvalidRequest) as caught:
        client.completions.submit_batch(items, task_id=task_id)
    assert caught.value.errors[0].pointer == "/completions/3/response"
    assert caught.value.errors[0].index == 3


def test_a_partial_batch_names_the_refused_items(fake: Any, client: Any, task_id: str) -> None:
    fake.script.append(
        fake.ok({"completions": [{"index": 1, "id": "comp_1", "externalId": None, "workflowRunIds": []}],
                 "errors": [{"index": 0, "pointer": "/completions/0/response", "code": "c", "detail": "d"}],
                 "estimatedScoreTimeMs": None}, 207)
    )  # fmt: skip
    sent = client.completions.submit_batch([item(1), item(2)], task_id=task_id, partial=True)
    assert fake.requests[0][2] == {"partial": "true"}
    assert (sent.completions[0].index, sent.errors[0].index) == (1, 0)


def test_a_misspelt_member_is_refused_before_anything_is_sent(fake: Any, client: Any) -> None:
    with pytest.raises(TypeError, match="respons"):
        client.completions.submit_batch([{"respons": "x"}])
    with pytest.raises(autotune_sdk.UnsendableValue):
        client.completions.submit(task_id="t", model_id="m", prompt="p", response="\ud800")
    with pytest.raises(autotune_sdk.UnsendableValue):
        client.completions.submit(task_id="t", model_id="m", prompt="p", response="r", metadata={"x": float("nan")})
    assert not fake.requests


def test_scores_are_read_by_cursor(fake: Any, client: Any) -> None:
    def page(identifier: str, cursor: str | None) -> tuple[int, dict[str, str], bytes]:
        score = {"id": identifier, "completionId": "c", "value": 1, "confidence": 1, "dimensions": None}
        pagination = {"limit": 1, "offset": 0, "total": None, "nextCursor": cursor}
        return fake.ok({"scores": [score], "pagination": pagination})

    fake.script += [page("score_1", "n"), page("score_2", None)]
    scores = list(client.scores.iterate(task_id="t", min_score=0.5, start_date=date(2026, 1, 2), page_size=1))
    assert [s.id for s in scores] == ["score_1", "score_2"]
    assert fake.requests[1][2] == {
        "limit": "1", "cursor": "n", "taskId": "t", "minScore": "0.5", "startDate": "2026-01-02"
    }  # fmt: skip


def test_times_in_queries_are_utc() -> None:
    ahead = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    assert _wire.query({"start_date": ahead, "archived": False, "x": None}) == {
        "startDate": "2026-01-02T01:00:00.000Z", "archived": "false"
    }  # fmt: skip


def test_retry_after_may_be_a_date() -> None:
    assert retry_after_s("12") == 12
    assert retry_after_s("soon") is None
    assert retry_after_s(None) is None
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_an_export_is_renamed_into_place_when_it_is_whole(fake: Any, client: Any, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_bytes(b"old")
    fake.script.append((200, {"Content-Type": "application/x-ndjson"}, b'{"a":1}\n'))
    done = client.scores.export(target, format="jsonl", task_id="t", dimensions=True, per="grader")
    assert target.read_bytes() == b'{"a":1}\n'
    assert done.bytes == 8
    assert len(done.sha256) == 64
    assert fake.requests[0][2] == {"format": "jsonl", "taskId": "t", "dimensions": "true", "per": "grader"}
    fake.script.append(fake.problem(400, "invalid_request", "no"))
    with pytest.raises(autotune_sdk.InvalidRequest):
        client.scores.export(target, format="x")
    assert target.read_bytes() == b'{"a":1}\n'
    assert [p.name for p in tmp_path.iterdir()] == ["out.jsonl"]
    fake.script.append((200, {}, b"xyz"))
    buffer = io.BytesIO()
    assert client.scores.export(buffer).path is None
    assert buffer.getvalue() == b"xyz"


def test_a_broken_export_is_restarted_and_leaves_no_partial_file(fake: Any, client: Any, tmp_path: Path) -> None:
    broken = (200, {"Content-Length": "5000"}, b"x" * 100)
    fake.script += [broken] * 4
    with pytest.raises(autotune_sdk.ConnectionFailed):
        client.scores.export(tmp_path / "a")
    assert not list(tmp_path.iterdir())
    fake.script += [broken, (200, {}, b"x" * 100)]
    assert client.scores.export(tmp_path / "a").bytes == 100


def test_an_unexpected_response_is_a_typed_error(fake: Any, client: Any) -> None:
    fake.script += [(200, {}, b"<html>"), fake.ok({"hello": 1}), fake.ok({"task": {"createdAt": "yesterday"}})]
    for _ in range(3):
        with pytest.raises(autotune_sdk.UnexpectedAnswer):
            client.tasks.get("task_1")
