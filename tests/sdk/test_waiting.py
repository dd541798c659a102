"""Waiting for scores: one, and thousands for few requests."""

from __future__ import annotations

import time
from typing import Any

import autotune_sdk
import pytest
from autotune_sdk import _waiting


@pytest.fixture(autouse=True)
def short_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_waiting, "PAUSE_S", 0.01)


def submit(client: Any, task_id: str, responses: list[str]) -> list[str]:
    items = [{"model_id": "m", "prompt": "p", "response": r} for r in responses]
    return client.completions.submit_batch(items, task_id=task_id).ids


def test_one_score_is_polled_until_it_is_final(fake: Any, client: Any, task_id: str) -> None:
    [identifier] = submit(client, task_id, ["four"])
    fake.polls_left[identifier] = 3
    result = client.completions.wait_for_score(identifier)
    assert (result.status, result.value, result.confidence) == ("completed", 0.04, 0.9)
    assert result.score.dimensions[0].name == "a"
    assert result.scores == (result.score,)
    polls = [r for r in fake.requests if r[1].endswith("/score")]
    assert len(polls) == 4
    assert polls[0][2] == {"wait": "25"}


def test_a_failure_is_a_state_and_not_a_zero(client: Any, task_id: str) -> None:
    [identifier] = submit(client, task_id, ["will fail"])
    result = client.completions.wait_for_score(identifier)
    assert (result.status, result.value, result.score) == ("failed", None, None)


def test_the_timeout_applies_to_one_and_to_many(fake: Any, client: Any, task_id: str) -> None:
    ids = submit(client, task_id, [f"r{n}" for n in range(20)])
    fake.polls_left[ids[3]] = 10**6
    with pytest.raises(autotune_sdk.WaitTimeout):
        client.completions.wait_for_score(ids[3], timeout_s=0.05)
    with pytest.raises(autotune_sdk.WaitTimeout) as caught:
        client.completions.wait_for_scores(ids, timeout_s=0.3)
    assert caught.value.pending == (ids[3],)
    assert len(caught.value.finished) == 19


def test_thousands_cost_few_requests(fake: Any, client: Any, task_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_waiting, "PAUSE_S", 0.1)
    responses = ["fail" if n % 50 == 0 else "x" * (n % 100) for n in range(2600)]
    ids = submit(client, task_id, responses)
    fake.ready_at = dict.fromkeys(ids[400:900:7], time.monotonic() + 1)
    seen: list[tuple[int, int]] = []
    fake.requests.clear()
    outcomes = client.completions.wait_for_scores(reversed(ids), on_progress=lambda *counts: seen.append(counts))
    assert list(outcomes) == list(reversed(ids))
    assert outcomes[ids[0]].status == "failed"
    assert outcomes[ids[0]].value is None
    assert all(outcomes[i].value == (n % 100) / 100 for n, i in enumerate(ids) if n % 50)
    assert seen[-1] == (2600, 2600)
    assert [s[0] for s in seen] == sorted(s[0] for s in seen)
    assert len(fake.requests) < 80


def test_without_stragglers_it_is_four_requests_for_five_hundred(fake: Any, client: Any, task_id: str) -> None:
    ids = submit(client, task_id, ["x"] * 1000)
    fake.requests.clear()
    client.completions.wait_for_scores(ids)
    assert len(fake.requests) == 8


def test_ids_of_several_tasks_are_found_over_small_pages(fake: Any, client: Any, task_id: str) -> None:
    ids = []
    for number in range(40):
        ids += submit(client, f"task_{number % 2}", ["y"])
    fake.page_size = 7
    outcomes = client.completions.wait_for_scores(ids)
    assert set(outcomes) == set(ids)
    assert all(o.value == 0.01 for o in outcomes.values())


def test_a_range_full_of_other_rows_is_abandoned(
    fake: Any, client: Any, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_waiting, "WASTED_ROWS", 20)
    ids = submit(client, task_id, ["z"] * 600)
    fake.page_size = 10
    mine = ids[::60]
    fake.requests.clear()
    assert len(client.completions.wait_for_scores(mine)) == 10
    assert sum(r[1] == "/completions" for r in fake.requests) == 2


def test_an_empty_wait_returns_nothing(fake: Any, client: Any) -> None:
    assert client.completions.wait_for_scores([]) == {}
    assert not fake.requests


def test_an_unknown_id_is_an_error(client: Any) -> None:
    with pytest.raises(autotune_sdk.NotFound):
        client.completions.wait_for_scores(["comp_none"])
