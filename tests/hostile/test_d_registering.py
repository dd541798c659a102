"""Rows D of the list: what is given as the name, the address or the limits of a grader, a task or a webhook."""

import time

import pytest

from autotune.webhooks.models import Webhook
from graders.models import Grader
from tasks.models import Task
from tests.factories import GraderFactory, public
from tests.hostile.urls import SSRF

pytestmark = pytest.mark.django_db
ODD_NAMES = (
    "<script>alert(1)</script>",
    "{{7*7}}",
    "{% include 'x' %}",
    "=1+1",
    "@SUM(A1)",
    "\u202eevil",
    "'; --",
    "../../x",
)
NO_NAMES = ("", " ", "\u2003", "a\0b", "a\nb", "a\x1b[31m", "a\u2028b", "x" * 10_000, "\ud800")


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def makers(api):
    """{what: a function that makes one of this name, or changes its name}: every place that takes a name."""
    grader = public("grader", GraderFactory(organization=api.organization))
    capabilities = {"maxBatchSize": 1}
    task = {"promptTemplate": "x", "graderId": grader}
    task_id = api.post("/tasks", {"name": "kept", **task}).json()["id"]
    return {
        "grader": lambda name: api.post(
            "/graders", {"name": name, "endpoint": "https://g.example.org", "capabilities": capabilities}
        ),
        "grader's new name": lambda name: api.patch(f"/graders/{grader}", {"name": name}),
        "task": lambda name: api.post("/tasks", {"name": name, **task}),
        "task's new name": lambda name: api.patch(f"/tasks/{task_id}", {"name": name}),
    }


def test_d18_an_unusual_name_is_text_and_returned_unchanged(makers):
    for what, make in makers.items():
        for name in ODD_NAMES:
            answer = make(f"{name} {what.split(chr(39))[0]} {len(what)}")
            assert answer.status_code in (200, 201), (what, name, answer.content)
            shown = answer.json().get("task") or answer.json()["grader"]
            assert shown["name"].startswith(name)


def test_d18_a_name_must_be_one_line_of_text(makers):
    before = set(Task.objects.values_list("name", flat=True)), set(Grader.objects.values_list("name", flat=True))
    for what, make in makers.items():
        for name in NO_NAMES:
            answer = make(name)
            assert answer.status_code == 400, (what, name)
            assert [error["pointer"] for error in answer.json()["errors"]] == ["/name"], (what, name)
    assert before == (
        set(Task.objects.values_list("name", flat=True)),
        set(Grader.objects.values_list("name", flat=True)),
    )


def test_d01_to_d07_no_hostile_address_is_registered_or_changed_to(api):
    """In this process; tests/hostile/test_ssrf_watched.py does it over the wire, watched from outside."""
    grader = GraderFactory(organization=api.organization)
    webhook = api.post("/webhooks", {"url": "https://h.example.org/", "events": ["score.completed"]}).json()["webhook"][
        "id"
    ]
    long = "https://a.example.org/" + "x" * 2**20
    for url in (*SSRF, long, "https://a.example.org/%2e%2e/x", "", "\0", "\ud800"):
        answers = (
            api.post("/graders", {"name": "x", "endpoint": url, "capabilities": {"maxBatchSize": 1}}),
            api.patch(f"/graders/{public('grader', grader)}", {"endpoint": url}),
            api.post("/webhooks", {"url": url, "events": ["score.completed"]}),
            api.patch(f"/webhooks/{webhook}", {"url": url}),
        )
        assert [answer.status_code for answer in answers] == [400] * 4, url[:80]
        assert {error["pointer"] for answer in answers for error in answer.json()["errors"]} <= {"/endpoint", "/url"}
    assert (Grader.objects.get().endpoint, Webhook.objects.get().url) == (grader.endpoint, "https://h.example.org/")


def test_d10_a_check_of_a_grader_reveals_nothing_of_the_response(api, settings):
    from autotune.core.outbound.addresses import parse_allow
    from tests.support.rawserver import raw_server

    marker = b"internal-page-7361"
    with raw_server(lambda connection, request: connection.answer(marker)) as victim:
        settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow("127.0.0.1/32:1024-65535")
        grader = GraderFactory(organization=api.organization, endpoint=victim.url)
        path = f"/graders/{public('grader', grader)}"
        answers = [api.post(f"{path}/verify"), api.post(f"{path}/health"), api.get(f"{path}/health"), api.get(path)]
    assert answers[0].json()["verified"] is False
    assert not any(marker in answer.content for answer in answers)


def test_d22_an_invalid_pin_is_refused(api):
    body = {"name": "x", "endpoint": "https://g.example.org", "capabilities": {"maxBatchSize": 1}}
    for pin in (
        "",
        "x",
        "A" * 44,
        "=" * 44,
        "A" * 43 + "é",
        "-----BEGIN CERTIFICATE-----",
        "A" * 2**20,
        1,
        None,
        ["A"],
    ):
        answer = api.post("/graders", {**body, "pins": [pin]})
        assert answer.status_code == 400, pin
        assert answer.json()["errors"][0]["pointer"] == "/pins/0"


def test_d16_a_pattern_that_never_ends_is_stored_and_not_run(api):
    """Schemas are checked for their form; a nested one is refused by its depth (`tasks/test_schemas.py`)."""
    grader = public("grader", GraderFactory(organization=api.organization))
    schema = {"type": "string", "pattern": "(a+)+$", "allOf": [{"pattern": "^(a|a)*$"}] * 100}
    answer = api.post("/tasks", {"name": "n", "promptTemplate": "x", "graderId": grader, "responseSchema": schema})
    assert answer.status_code == 201
    begun = time.process_time()
    sent = {"taskId": answer.json()["id"], "modelId": "m", "prompt": "p", "response": "a" * 100_000 + "!"}
    assert api.post("/completions", sent).status_code == 202
    assert time.process_time() - begun < 2
