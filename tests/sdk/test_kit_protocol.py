"""The grader kit against the published vectors of the protocol."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from autotune_sdk import _strictjson
from autotune_sdk.grader import CannotJudge, Completion, Grader, InvalidScore, Refused, Score, protocol

VECTORS = json.loads((Path(__file__).parents[2] / "docs/protocol/vectors.json").read_text(encoding="utf-8"))
SECRETS = VECTORS["secrets"]


def body_of(vector: dict[str, Any]) -> bytes:
    if repeat := vector.get("body_repeat"):
        return bytes.fromhex(repeat["byte_hex"]) * repeat["count"]
    if parts := vector.get("body_parts"):
        return "".join(p["text"] if "text" in p else p["repeat"] * p["count"] for p in parts).encode()
    return base64.b64decode(vector["body_base64"])


def named(section: str) -> Any:
    return pytest.mark.parametrize("vector", VECTORS[section], ids=lambda v: v["id"])


@named("signing")
def test_signatures(vector: dict[str, Any]) -> None:
    body = body_of(vector)
    assert (
        protocol.sign(SECRETS[vector["secret"]], vector["timestamp"], vector["request_id"], body) == vector["signature"]
    )


@named("verify_request")
def test_requests_are_verified(vector: dict[str, Any]) -> None:
    replays = protocol.ReplayCache()
    for request_id in vector["seen_request_ids"]:
        replays.add(request_id)
    secrets = [SECRETS[name] for name in vector["active_secrets"]]
    headers = [tuple(pair) for pair in vector["headers"]]

    def verify() -> protocol.Verified:
        return protocol.verify(headers, body_of(vector), secrets, now=vector["now"], replays=replays)

    if vector["expect"] == "accept":
        assert verify().secret in secrets
        with pytest.raises(Refused, match="replayed_request"):
            verify()
    else:
        with pytest.raises(Refused) as caught:
            verify()
        assert caught.value.code == vector["reason"]


def test_the_rules_of_the_vectors_are_those_of_the_kit() -> None:
    rules = VECTORS["rules"]
    assert rules["max_skew_seconds"] == protocol.MAX_SKEW_S
    assert rules["remember_request_ids_seconds"] == protocol.REMEMBER_S


TEXT_CODES = {"invalid_json", "number_not_finite", "duplicate_key", "invalid_text", "too_deep"}


@named("bodies")
def test_bodies_are_read_as_strictly_as_the_platform_reads_them(vector: dict[str, Any]) -> None:
    raw = body_of(vector)
    if vector["reason"] in TEXT_CODES:
        with pytest.raises(_strictjson.JSONRefused) as caught:
            _strictjson.loads(raw)
        assert caught.value.code == vector["reason"]
    else:
        _strictjson.loads(raw)


SCORE_CODES = {"out_of_range", "too_long", "duplicate_dimension"}
SCORES = [v for v in VECTORS["bodies"] if v["kind"] == "score" and v["reason"] in SCORE_CODES | {None}]


@pytest.mark.parametrize("vector", SCORES, ids=lambda v: v["id"])
def test_the_kit_sends_no_score_that_the_platform_refuses(vector: dict[str, Any]) -> None:
    data = _strictjson.loads(body_of(vector))
    if data.get("error") is not None:
        return
    score_members = data["score"]

    def build_score() -> Score:
        dimensions = [(d["name"], d["value"], d["weight"]) for d in score_members.get("dimensions") or []]
        return Score(score_members["value"], score_members["confidence"], dimensions, score_members.get("reasoning"))

    if vector["reason"]:
        with pytest.raises(InvalidScore) as caught:
            build_score()
        assert caught.value.code == vector["reason"]
    else:
        assert build_score().value == vector["recorded"]["comp_01"]
        assert str(build_score().value)[0] != "-"


def test_the_replay_memory_forgets_after_660_seconds_and_refuses_when_full() -> None:
    now = [0.0]
    cache = protocol.ReplayCache(limit=4, clock=lambda: now[0])
    for moment in (0, 30, 90, 200):
        now[0] = moment
        cache.add(f"r{moment}")
    with pytest.raises(Refused, match="too_many_requests"):
        cache.add("one-more")
    now[0] = 660
    with pytest.raises(Refused, match="replayed_request"):
        cache.add("r0")
    now[0] = 721
    cache.add("r0")
    with pytest.raises(Refused, match="replayed_request"):
        cache.add("r90")


SECRET, OTHER = SECRETS["current"], SECRETS["previous"]


def ask(
    grader: Grader, path: str, data: Any = None, *, secret: str = SECRET, rid: str | None = None
) -> tuple[int, Any]:
    """One signed call; checks the signature of the answer as the platform does."""
    body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
    if rid is None:
        rid = (
            data["requestId"]
            if isinstance(data, dict) and "requestId" in data
            else f"r-{hashlib.md5(body).hexdigest()}"
        )
    headers = protocol.sign_request(secret, body, rid)
    answer = grader.handle("GET" if path.endswith("/health") else "POST", path, headers.items(), body)
    answer_headers = dict(answer.headers)
    expected = protocol.sign(SECRET, answer_headers[protocol.RESPONSE_TIMESTAMP], rid, answer.body)
    assert answer_headers[protocol.RESPONSE_SIGNATURE] == expected
    assert answer_headers["Content-Type"] == "application/json"
    assert int(answer_headers["Content-Length"]) == len(answer.body)
    return answer.status, json.loads(answer.body)


def completion(identifier: str = "comp_1", response: str = "4", **more: Any) -> dict[str, Any]:
    return {"id": identifier, "taskId": "task_1", "prompt": "2+2?", "response": response, "metadata": {}, **more}


NUMBER = iter(range(10**9))


def single(grader: Grader, *, options: Any = None, **more: Any) -> tuple[int, Any]:
    data = {"requestId": f"s-{next(NUMBER)}", "completion": completion(**more), "options": options or {}}
    return ask(grader, "/score", data)


def batch(grader: Grader, responses: list[str], path: str = "/score/batch") -> tuple[int, Any]:
    items = [completion(f"comp_{n}", r) for n, r in enumerate(responses)]
    return ask(grader, path, {"requestId": f"b-{next(NUMBER)}", "completions": items, "options": {}, "new": 1})


def judge(completion: Completion) -> Any:
    match completion.response:
        case "cannot":
            raise CannotJudge("no reference answer")
        case "crash":
            raise RuntimeError("secret text")
        case "high":
            return 1.3
        case "nan":
            return float("nan")
        case "none":
            return None
        case "pair":
            return 0.25, 0.5
        case "full":
            return Score(0.5, 0.75, [("style", 1, 0.4), ("truth", 0.2, 0.6)], "well")
        case "true":
            return True
    return 0.5


@pytest.fixture
def grader() -> Grader:
    kit_grader = Grader("g", "1.2.3", secret=SECRET, max_batch_size=5, supports_dimensions=True, domains=["math"])
    kit_grader.score(judge)
    return kit_grader


def test_a_number_a_pair_and_a_score_are_answers(grader: Grader) -> None:
    assert single(grader)[1]["score"] == {"value": 0.5, "confidence": 1.0}
    assert single(grader, response="true")[1]["score"]["value"] == 1.0
    assert single(grader, response="pair")[1]["score"] == {"value": 0.25, "confidence": 0.5}
    status, reply = single(grader, response="full")
    assert status == 200
    assert reply["score"] == {
        "value": 0.5,
        "confidence": 0.75,
        "dimensions": [{"name": "style", "value": 1.0, "weight": 0.4}, {"name": "truth", "value": 0.2, "weight": 0.6}],
        "reasoning": "well",
    }
    plain = single(grader, response="full", options={"includeDimensions": False, "includeExplanation": False})[1]
    assert plain["score"] == {"value": 0.5, "confidence": 0.75}


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ("cannot", "no reference answer"),
        ("high", "the grader returned an invalid score: value must be from 0 to 1, not 1.3"),
        ("nan", "the grader returned an invalid score: value must be a number from 0 to 1, not nan"),
        ("none", "the grader returned an invalid score: value must be a number, not NoneType"),
    ],
)
def test_an_invalid_score_is_an_error_and_never_clamped(grader: Grader, response: str, error: str) -> None:
    status, reply = single(grader, response=response)
    assert (status, reply["error"], "score" in reply) == (200, error, False)


def test_a_crash_is_a_retryable_error_without_details(grader: Grader) -> None:
    status, reply = single(grader, response="crash")
    assert (status, reply["error"]) == (500, "the scoring function failed")
    status, reply = batch(grader, ["4", "crash", "cannot"])
    assert [s["completionId"] for s in reply["scores"]] == ["comp_0", "comp_2"]
    assert batch(grader, ["crash", "crash"])[0] == 500


def test_a_batch_function_is_used_for_batches(grader: Grader) -> None:
    @grader.score_batch
    def many(items: list[Completion]) -> list[Any]:
        return [CannotJudge("no") if i.response == "x" else (len(items) / 10, 0.5) for i in items]

    scores = batch(grader, ["a", "x", "b"])[1]["scores"]
    assert [s.get("error") or s["score"]["value"] for s in scores] == [0.3, "no", 0.3]
    assert single(grader)[1]["score"]["value"] == 0.5

    grader.score_batch(lambda items, options: {i.id: 0.9 for i in items})
    assert batch(grader, ["a", "b"])[1]["scores"][1] == {
        "completionId": "comp_1",
        "score": {"value": 0.9, "confidence": 1},
    }
    grader.score_batch(lambda items: [1.0])
    assert batch(grader, ["a", "b"])[0] == 500


def test_a_batch_function_serves_single_calls_too() -> None:
    grader = Grader("g", "1", secret=SECRET)
    grader.score_batch(lambda items: [0.1] * len(items))
    assert single(grader)[1]["score"]["value"] == 0.1


def test_health_says_version_and_capabilities(grader: Grader) -> None:
    single(grader)
    status, reply = ask(grader, "/health")
    assert (status, reply["status"], reply["version"]) == (200, "healthy", "1.2.3")
    capabilities = reply["capabilities"]
    assert isinstance(capabilities.pop("avgLatencyMs"), int)
    assert capabilities == {
        "maxBatchSize": 5,
        "supportsDimensions": True,
        "supportsExplanations": False,
        "supportsAsync": False,
        "domains": ["math"],
    }


def test_a_grader_may_be_mounted_below_a_path(grader: Grader) -> None:
    assert batch(grader, ["a"], path="/graders/math/score/batch")[0] == 200
    assert ask(grader, "/other", {"requestId": "x-1"})[0] == 404
    headers = protocol.sign_request(SECRET, b"", "x-2")
    assert grader.handle("GET", "/score", headers.items(), b"").status == 405


def test_limits_of_a_batch(grader: Grader) -> None:
    assert batch(grader, ["a"] * 6)[0] == 413
    assert batch(grader, [])[0] == 400
    data = {"requestId": "d-1", "completions": [completion(), completion()]}
    assert ask(grader, "/score/batch", data)[0] == 400
    assert grader.handle("POST", "/score", protocol.sign_request(SECRET).items(), b"x" * (2**25 + 1)).status == 413


def test_an_answer_stays_below_8_mib(grader: Grader) -> None:
    grader.max_batch_size = 1000
    grader.score(lambda c: Score(1, reasoning="é" * 65_536))
    status, reply = batch(grader, ["a"] * 100)
    assert status == 200
    assert 60 < len(reply["scores"]) < 65


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "invalid_json"),
        (b'{"requestId":"q","requestId":"q"}', "duplicate_key"),
        (b"[]", "the body must be an object"),
        (b'{"requestId":"other"}', "wrong_request_id"),
        (b'{"requestId":"q"}', "a completion must be an object"),
        (b'{"requestId":"q","completion":{"id":1}}', "completion.id must be text"),
        (
            b'{"requestId":"q","completion":{"id":"c","response":"r","metadata":[]}}',
            "completion.metadata must be an object",
        ),
        (b'{"requestId":"q","x":NaN}', "invalid_json"),
        (b'{"requestId":"q","x":1e999}', "number_not_finite"),
    ],
)
def test_a_body_of_another_shape_is_a_signed_400(grader: Grader, body: bytes, error: str) -> None:
    status, reply = ask(grader, "/score", body, rid="q")
    assert status == 400
    assert reply["error"].startswith(error)
    assert reply["requestId"] == "q"


def test_unsigned_and_wrongly_signed_requests_are_401(grader: Grader) -> None:
    answer = grader.handle("GET", "/health", [], b"")
    assert (answer.status, json.loads(answer.body)) == (401, {"error": "missing_header"})
    assert ask(grader, "/score", {"requestId": "w-1", "completion": completion()}, secret=OTHER)[0] == 401
    data = {"requestId": "w-2", "completion": completion()}
    assert ask(grader, "/score", data)[0] == 200
    assert ask(grader, "/score", data) == (401, {"requestId": "w-2", "error": "replayed_request"})


def test_both_secrets_of_a_rotation_are_accepted_and_the_current_one_signs() -> None:
    grader = Grader("g", "1", secret=[SECRET, OTHER])
    grader.score(lambda c: 1)
    assert ask(grader, "/score", {"requestId": "t-1", "completion": completion()}, secret=OTHER)[0] == 200


def test_secrets_come_from_the_environment_or_a_file_that_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "secret"
    grader = Grader("g", "1", secret_file=path)
    grader.score(lambda c: 1)
    monkeypatch.delenv("AUTOTUNE_GRADER_SECRET", raising=False)
    assert grader.handle("GET", "/health", protocol.sign_request(SECRET).items(), b"").status == 401
    path.write_text(OTHER + "\n")
    assert grader.secrets.active() == (OTHER,)
    path.write_text(SECRET + "\n")  # as long, and within a tick of the clock
    assert grader.secrets.active() == (SECRET,)
    path.write_text("")
    assert grader.secrets.active() == (SECRET,)
    path.write_text(f"{SECRET}\n{OTHER}\nshort\n")
    assert grader.secrets.active() == (SECRET, OTHER)
    path.unlink()
    assert ask(grader, "/health")[0] == 200
    monkeypatch.setenv("AUTOTUNE_GRADER_SECRET", f"{SECRET}, {OTHER}")
    assert Grader("g", "1").secrets.active() == (SECRET, OTHER)
    with pytest.raises(ValueError, match="48 to 128") as caught:
        Grader("g", "1", secret="atgs_short")
    assert "atgs_short" not in str(caught.value)
    assert SECRET not in repr(grader) + repr(grader.secrets)


def test_each_item_is_logged_before_it_is_answered(grader: Grader, tmp_path: Path) -> None:
    seen = []
    grader.on_graded = seen.append
    grader.log_to(tmp_path / "log")
    batch(grader, ["4", "crash", "cannot"])
    single(grader, response="full")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(x["completionId"], x.get("value"), x.get("error")) for x in lines] == [
        ("comp_0", 0.5, None),
        ("comp_2", None, "no reference answer"),
        ("comp_1", 0.5, None),
    ]
    assert all(x["requestId"] for x in lines)
    assert len(seen) == 3


def test_a_coroutine_is_refused_as_a_scoring_function(grader: Grader) -> None:
    async def later(c: Completion) -> float:
        return 1.0

    with pytest.raises(TypeError):
        grader.score(later)


def test_other_numbers_count_and_text_does_not() -> None:
    from decimal import Decimal
    from fractions import Fraction

    assert Score(Decimal("0.5")).value == Score(Fraction(1, 2)).value == 0.5
    for wrong in ("0.5", [1], None, {}, 10**400):
        with pytest.raises(InvalidScore, match="number"):
            Score(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidScore):
        Score(1, reasoning="\ud800")
