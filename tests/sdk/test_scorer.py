"""What the adapters' scorer does with its time, and how a response is taken out of a whole text."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from autotune_sdk import AutotuneClient
from autotune_sdk.integrations import openrlhf, scoring
from pytest_httpserver import HTTPServer
from werkzeug import Response

PENDING = {"value": None, "confidence": None, "completionId": "comp_1", "status": "pending", "code": None}


def test_a_call_that_waits_for_a_thread_keeps_its_deadline(monkeypatch, task_id):
    monkeypatch.setattr(scoring, "THREADS", 1)
    prompts, never = [], threading.Event()

    def handler(request):
        prompts.append(request.json["items"][0]["prompt"])
        never.wait(request.json["deadlineMs"] / 1000)
        return Response(json.dumps({"rewards": [PENDING]}), mimetype="application/json")

    with HTTPServer("127.0.0.1", 0, threaded=True) as server, AutotuneClient("k", server.url_for("/")) as client:
        server.expect_request("/api/v1/rewards").respond_with_handler(handler)
        scorer = scoring.Scorer(task_id, client=client, deadline_s=0.6)

        async def all_at_once():
            calls = [scorer.score_async([{"prompt": f"p{n}", "response": "r"}]) for n in range(4)]
            return await asyncio.gather(*calls)

        # the first call ends before its deadline, by the margin in which its answer is heard
        codes = [list(result.metrics.codes) for result in asyncio.run(all_at_once())]
        late = asyncio.run(_queued(scorer))
    assert codes[0] == ["pending"]
    assert scorer.totals.seconds < 5 * 0.6 + 1
    assert late.metrics.codes == {"timeout": 1}
    assert "late" not in prompts


async def _queued(scorer):
    """A call whose thread is busy until its deadline has passed."""
    scorer.deadline_s, free = 0.1, threading.Event()
    scorer.pool.submit(free.wait)
    call = asyncio.ensure_future(scorer.score_async([{"prompt": "late", "response": "r"}]))
    asyncio.get_running_loop().call_later(0.2, free.set)
    return await call


@pytest.mark.parametrize("prompt", ["<s>", "<|begin_of_text|>"])
def test_a_prompt_of_only_a_tag_does_not_match_every_text(prompt):
    assert openrlhf.split("abc", prompt) == ("abc", False)
    assert openrlhf.split(prompt + "abc", prompt) == ("abc", True)
    assert openrlhf.split("abc", "") == ("abc", True)
