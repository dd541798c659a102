"""The grader kit answers later: work is kept, and its callback is sent until it is settled."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from autotune_sdk.grader import (
    CallbackExpired,
    CallbackRefused,
    CannotJudge,
    Completion,
    Grader,
    InvalidScore,
    Score,
    Work,
    later,
    protocol,
    sign_request,
)

SECRET = "atgs_" + "s" * 48
URL = "https://autotune.example/api/v1/callbacks/token"
UNTIL = datetime.now(UTC).replace(microsecond=0) + timedelta(days=7)


@pytest.fixture
def kept() -> list[Work]:
    return []


@pytest.fixture
def grader(kept: list[Work]) -> Grader:
    slow_grader = Grader("slow", "1", secret=SECRET)
    slow_grader.score(lambda completion: 0.5)
    slow_grader.later(kept.append)
    return slow_grader


@pytest.fixture
def work() -> Work:
    return Work("r1", URL, UNTIL, (Completion("c1", "t", "p", "r"), Completion("c2", "t", "p", "r")), batch=True)


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`platform(*answers)`: the platform answers so; a list of the callbacks (headers, body), and the waits."""

    def make(*answers: Any) -> Any:
        left, sent, waits = list(answers), [], []

        def post(url: str, *, data: bytes, headers: dict[str, str], **_: Any) -> requests.Response:
            sent.append((url, headers, data))
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            response = requests.Response()
            response.status_code, code = answer
            response._content = json.dumps({"code": code}).encode()
            return response

        monkeypatch.setattr(later.requests, "post", post)
        monkeypatch.setattr(later.deliver, "__kwdefaults__", {"until": None, "sleep": waits.append})
        return sent, waits

    return make


def ask(grader: Grader, path: str = "/score", **members: Any) -> tuple[int, dict[str, Any]]:
    item = {"id": "c1", "prompt": "p", "response": "r"}
    what = {"completions": [item, {**item, "id": "c2"}]} if path.endswith("batch") else {"completion": item}
    body = json.dumps({"requestId": "r1", **what, **members}).encode()
    answer = grader.handle("POST", path, list(sign_request(SECRET, body, "r1").items()), body)
    headers = dict(answer.headers)
    assert headers["X-Autotune-Response-Signature"] == protocol.sign(
        SECRET, headers["X-Autotune-Response-Timestamp"], "r1", answer.body
    )
    return answer.status, json.loads(answer.body)


LATER = {"callbackUrl": URL, "callbackExpiresAt": UNTIL.isoformat().replace("+00:00", ".000Z")}


# --- accepting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "batch", "count"), [("/score", False, 1), ("/score/batch", True, 2)])
def test_work_is_kept_and_accepted(grader: Grader, kept: list[Work], path: str, batch: bool, count: int) -> None:
    assert ask(grader, path, **LATER) == (202, {"requestId": "r1", "status": "accepted"})
    (work,) = kept
    assert (work.request_id, work.callback_url, work.expires_at, work.batch) == ("r1", URL, UNTIL, batch)
    assert [completion.id for completion in work.completions] == ["c1", "c2"][:count]


def test_a_request_without_an_address_is_answered_at_once(grader: Grader, kept: list[Work]) -> None:
    status, body = ask(grader)
    assert (status, body["score"]["value"], kept) == (200, 0.5, [])


def test_work_that_is_not_kept_is_answered_at_once(grader: Grader) -> None:
    grader.later(lambda work: False)
    assert ask(grader, **LATER)[0] == 200


def test_work_that_could_not_be_kept_is_not_accepted(grader: Grader) -> None:
    def fail(work: Work) -> None:
        raise OSError("the disk is full")

    grader.later(fail)
    assert ask(grader, **LATER)[0] == 500


def test_health_says_whether_it_answers_later(grader: Grader) -> None:
    assert grader.health()["capabilities"]["supportsAsync"] is True
    assert Grader("quick", "1", secret=SECRET).health()["capabilities"]["supportsAsync"] is False


@pytest.mark.parametrize("members", [{"callbackUrl": 1}, {"callbackExpiresAt": "soon"}, {"callbackExpiresAt": None}])
def test_an_invalid_address_is_refused(grader: Grader, members: dict[str, Any]) -> None:
    assert ask(grader, **{**LATER, **members})[0] == 400


def test_work_can_be_kept_as_text(grader: Grader, kept: list[Work]) -> None:
    ask(grader, "/score/batch", options={"includeDimensions": False}, **LATER)
    assert Work.from_json(kept[0].to_json()) == kept[0]


# --- calling back ---------------------------------------------------------------------------------------------------


def test_a_callback_is_signed_with_the_requests_id(grader: Grader, kept: list[Work], platform: Any) -> None:
    ask(grader, **LATER)
    sent, _ = platform((200, "recorded"))
    assert grader.call_back(kept[0], Score(0.75, 0.5, reasoning="so")) == "recorded"
    ((url, headers, body),) = sent
    assert url == URL
    assert protocol.verify(headers.items(), body, [SECRET]).request_id == "r1"
    assert json.loads(body) == {
        "requestId": "r1",
        "score": {"value": 0.75, "confidence": 0.5, "reasoning": "so"},
    }


@pytest.mark.parametrize("results", [[1, CannotJudge("no")], {"c2": CannotJudge("no"), "c1": 1}], ids=["list", "map"])
def test_a_batch_is_called_back(grader: Grader, work: Work, platform: Any, results: Any) -> None:
    sent, _ = platform((200, "recorded"))
    assert grader.call_back(work, results) == "recorded"
    entries = {entry.pop("completionId"): entry for entry in json.loads(sent[0][2])["scores"]}
    assert entries == {"c1": {"score": {"value": 1.0, "confidence": 1.0}}, "c2": {"error": "no"}}


def test_a_part_of_a_batch_may_be_sent_first(grader: Grader, work: Work, platform: Any) -> None:
    sent, _ = platform((200, "recorded"))
    grader.call_back(work, {"c2": 0.5})
    assert [entry["completionId"] for entry in json.loads(sent[0][2])["scores"]] == ["c2"]


def test_a_large_batch_goes_in_parts(
    grader: Grader, work: Work, platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(later, "MAX_PART", 100)
    sent, _ = platform((200, "recorded"), (409, "already_recorded"))
    assert grader.call_back(work, [0.5, 0.5]) == "already_recorded"
    assert [len(json.loads(body)["scores"]) for _, _, body in sent] == [1, 1]


@pytest.mark.parametrize(
    ("status", "code"),
    [(200, "recorded"), (409, "already_recorded"), (409, "result_conflict"), (410, "expired"), (410, "cancelled"),
     (404, "not_found")],
)  # fmt: skip
def test_a_settled_callback_is_not_sent_again(
    grader: Grader, work: Work, platform: Any, status: int, code: str
) -> None:
    sent, waits = platform((status, code))
    assert grader.call_back(work, [0, 1]) == code
    assert (len(sent), waits) == (1, [])


def test_it_is_resent_with_a_new_signature_and_growing_waits(grader: Grader, work: Work, platform: Any) -> None:
    sent, waits = platform(
        (503, "unavailable"), requests.ConnectionError(), (429, "too_many_requests"), (401, "unauthorized"),
        (302, ""), (200, "recorded"),
    )  # fmt: skip
    assert grader.call_back(work, [0, 1]) == "recorded"
    assert len(sent) == 6
    assert len({body for _, _, body in sent}) == 1
    for number, wait in enumerate(waits):
        assert 5 * 2**number / 2 <= wait <= 5 * 2**number


def test_a_new_secret_signs_the_next_try(grader: Grader, work: Work, platform: Any) -> None:
    new = "atgs_" + "n" * 48
    sent, _ = platform((401, "unauthorized"), (200, "recorded"))
    active = iter([(SECRET,), (new, SECRET)])
    grader.secrets.active = lambda: next(active)  # type: ignore[method-assign]
    assert grader.call_back(work, [0, 1]) == "recorded"
    assert protocol.verify(sent[1][1].items(), sent[1][2], [new])


@pytest.mark.parametrize(("status", "code"), [(400, "invalid_json"), (413, ""), (415, ""), (422, "invalid_result")])
def test_an_error_to_correct_is_raised(grader: Grader, work: Work, platform: Any, status: int, code: str) -> None:
    platform((status, code))
    with pytest.raises(CallbackRefused) as caught:
        grader.call_back(work, [0, 1])
    assert (caught.value.status, caught.value.code) == (status, code)


def test_it_stops_at_the_callers_deadline_and_at_the_expiry(grader: Grader, work: Work, platform: Any) -> None:
    platform(*[(503, "")] * 2)
    with pytest.raises(CallbackExpired, match="503"):
        grader.call_back(work, [0, 1], until=datetime.now(UTC))
    over = Work("r1", URL, datetime.now(UTC), work.completions, batch=True)
    with pytest.raises(CallbackExpired):
        grader.call_back(over, [0, 1])


@pytest.mark.parametrize("results", [[1], [1, 2, 3], {}, {"c3": 1}])
def test_results_that_do_not_belong_are_not_sent(grader: Grader, work: Work, platform: Any, results: Any) -> None:
    sent, _ = platform()
    with pytest.raises(ValueError):
        grader.call_back(work, results)
    assert sent == []


def test_an_invalid_result_is_not_sent(grader: Grader, work: Work, platform: Any) -> None:
    sent, _ = platform()
    with pytest.raises(InvalidScore):
        grader.call_back(work, {"c1": 1.5})
    assert sent == []
