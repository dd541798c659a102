"""Versions: the digest, its reuse, and GET /tasks/:id/versions."""

import hashlib
import hmac
from uuid import UUID

import pytest

from autotune.core.crypto import encryption
from autotune.core.errors import Invalid
from tasks import panels, versions
from tasks.models import TaskVersion
from tasks.panels import PanelSeat
from tests.factories import GraderFactory, OrganizationFactory, TaskFactory, public

CONTENT = {
    "systemPrompt": None,
    "promptTemplate": "é {{q}}",
    "responseSchema": {"b": 1, "a": [1.0, 2.5]},
    "model": None,
}
PANEL = [PanelSeat(UUID(int=1), 1.0, "scoring")]


@pytest.fixture
def api(api_for):
    return api_for()


@pytest.fixture
def task(api):
    grader = GraderFactory(organization=api.organization)
    body = {"name": "T", "promptTemplate": "{{q}}", "graderId": public("grader", grader)}
    return api.post("/tasks", body).json()["task"]


def listed(api, task):
    answer = api.get(f"/tasks/{task['id']}/versions")
    assert answer.status_code == 200
    assert list(answer.json()) == ["versions", "pagination"]
    return answer.json()["versions"]


@pytest.fixture
def organization_id(db):
    return OrganizationFactory().pk


def test_a_digest_is_an_hmac_of_canonical_json_under_the_organizations_key(organization_id):
    text = (
        '{"aggregation":"mean","graders":[{"graderId":"grader_00000000000000000000000001","part":"scoring","weight":1}],'
        '"model":null,"promptTemplate":"é {{q}}","responseSchema":{"a":[1,2.5],"b":1},"systemPrompt":null}'
    )
    parts = [b"task version", text.encode()]
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    expected = hmac.digest(encryption.digest_key(organization_id), framed, hashlib.sha256).hex()
    assert versions.digest(organization_id, CONTENT, PANEL, "mean") == expected


def test_organizations_have_different_digests_of_equal_content(organization_id):
    other = OrganizationFactory().pk
    assert versions.digest(organization_id, CONTENT, PANEL, "mean") != versions.digest(other, CONTENT, PANEL, "mean")


def test_the_digest_ignores_member_order_and_number_notation(organization_id):
    turned = dict(reversed(CONTENT.items())) | {"responseSchema": {"a": [1, 2.5], "b": 1.0}}
    expected = versions.digest(organization_id, CONTENT, PANEL, "mean")
    assert versions.digest(organization_id, turned, PANEL, "mean") == expected


def test_everything_that_defines_a_task_counts(organization_id):
    seat = PanelSeat(UUID(int=2), 1.0, "scoring")
    definitions = [
        (CONTENT, PANEL, "mean"),
        (CONTENT, PANEL, "min"),
        (CONTENT, [*PANEL, seat], "mean"),
        (CONTENT, [seat, *PANEL], "mean"),
        (CONTENT, [PanelSeat(UUID(int=1), 0.5, "scoring")], "mean"),
        (CONTENT, [PanelSeat(UUID(int=1), 1.0, "shadow")], "mean"),
        *((CONTENT | {name: "other"}, PANEL, "mean") for name in CONTENT),
    ]
    assert len({versions.digest(organization_id, *definition) for definition in definitions}) == 10


def test_the_same_content_has_the_digest_that_the_answer_shows(api, task):
    api.patch(
        f"/tasks/{task['id']}", {"model": {"provider": "acme", "name": "m", "params": {"t": 0.5}}, "systemPrompt": "ß"}
    )
    for row, version in zip(TaskVersion.objects.order_by("-created_at"), listed(api, task), strict=True):
        expected = versions.digest(api.organization.pk, row.content, panels.seats(row), row.aggregation)
        assert version["digest"] == row.digest == expected


def test_only_a_deck_may_have_no_graders(organization_id):
    deck, plain = (TaskFactory(organization_id=organization_id, kind=kind) for kind in ("deck", "task"))
    with pytest.raises(Invalid) as refusal:
        versions.find_or_create(plain, CONTENT, [], "mean", plain.created_by)
    assert [(error.pointer, error.code) for error in refusal.value.errors] == [("/graders", "missing_field")]
    version = versions.find_or_create(deck, CONTENT, [], "mean", deck.created_by)
    assert not version.members.exists()


def test_the_newest_comes_first_and_one_is_current(api, task):
    for template in ("b", "c", "{{q}}"):
        api.patch(f"/tasks/{task['id']}", {"promptTemplate": template})
    versions = listed(api, task)
    assert [(version["promptTemplate"], version["current"]) for version in versions] == [
        ("c", False),
        ("b", False),
        ("{{q}}", True),
    ]
    assert versions[-1]["id"] == task["version"]
    assert list(versions[0]) == [
        "id", "digest", "current", "systemPrompt", "promptTemplate", "responseSchema", "model", "graders",
        "aggregation", "createdAt",
    ]  # fmt: skip


def test_the_author_of_a_version_is_whoever_created_it_first(api, task, api_for):
    other = api_for(organization=api.organization)
    for caller, template in ((other, "b"), (api, "c"), (other, "c"), (other, "{{q}}")):
        assert caller.patch(f"/tasks/{task['id']}", {"promptTemplate": template}).status_code == 200
    authors = TaskVersion.objects.order_by("created_at").values_list("created_by", flat=True)
    people = [client.user.pk for client in (api, other, api)]
    assert list(authors) == people
    assert "createdBy" not in listed(api, task)[0]


def test_equal_tasks_have_equal_digests_and_versions_of_their_own(api, task):
    body = {name: task[name] for name in ("promptTemplate", "graderId")} | {"name": "Twin"}
    twin = api.post("/tasks", body).json()["task"]
    assert twin["version"] != task["version"]
    assert listed(api, twin)[0]["digest"] == listed(api, task)[0]["digest"]


def test_the_number_of_queries_does_not_grow_with_versions(
    api, task, django_assert_num_queries, django_capture_on_commit_callbacks
):
    for number in range(10):
        with django_capture_on_commit_callbacks(execute=True):  # keys are opened once and kept
            api.patch(f"/tasks/{task['id']}", {"promptTemplate": str(number)})
    with django_capture_on_commit_callbacks(execute=True):
        listed(api, task)
    with django_assert_num_queries(7):  # the key, the task, its versions, their number, sizes and panels; the event
        assert len(listed(api, task)) == 11
