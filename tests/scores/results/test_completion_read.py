"""GET /completions/:id: the object, its ETag, and for whom it exists."""

import pytest

from autotune.core import ids
from tests.factories import CompletionFactory, OrganizationFactory, RunFactory, ScoreFactory, TaskFactory, public

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="reviewer")


@pytest.fixture
def completion(api):
    return CompletionFactory(task=TaskFactory(organization=api.organization), metadata={"10": 1, "2": 2})


def path_of(completion):
    return f"/completions/{public('comp', completion)}"


def test_a_final_completion_shows_its_reward(api, completion):
    score = ScoreFactory(run__completion=completion, value=0.25, confidence=0.5)
    body = api.get(path_of(completion)).json()
    assert list(body) == ["completion"]
    assert body["completion"]["status"] == "completed"
    assert body["completion"]["workflowRunIds"] == [public("run", score.run)]
    assert list(body["completion"]["reward"].items())[:5] == [
        ("value", 0.25), ("confidence", 0.5), ("aggregation", "mean"), ("used", 1), ("failed", 0),
    ]  # fmt: skip
    assert list(body["completion"]["metadata"]) == ["10", "2"]


def test_a_current_etag_gets_304(api, completion):
    path = path_of(completion)
    first = api.get(path)
    tag = first["ETag"]
    assert tag.startswith('"')
    for header in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = api.get(path, if_none_match=header)
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert api.get(path, if_none_match='"other"').content == first.content


def test_a_change_of_its_status_changes_the_tag(api, completion):
    run = RunFactory(completion=completion)
    before = api.get(path_of(completion))
    run.status, run.attempt = "running", 1
    run.save()
    after = api.get(path_of(completion), if_none_match=before["ETag"])
    assert (after.status_code, after.json()["completion"]["status"]) == (200, "processing")


def test_a_completion_of_another_organization_is_404(api):
    foreign = CompletionFactory(task=TaskFactory(organization=OrganizationFactory()))
    answers = [api.get(path_of(foreign)), api.get(f"/completions/{ids.encode('comp', ids.new())}")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json()["detail"] == answers[1].json()["detail"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST", "TRACE", "PROPFIND"])
def test_it_can_only_be_read_or_erased(api, completion, method):
    answer = api.call(method, path_of(completion))
    assert answer.status_code == 405
    assert answer["Content-Type"] == "application/problem+json"
    assert "GET" in answer["Allow"]
    assert api.get(path_of(completion)).status_code == 200


def test_head_is_get_without_the_body(api, completion):
    answer = api.call("HEAD", path_of(completion))
    assert (answer.status_code, answer["ETag"]) == (200, api.get(path_of(completion))["ETag"])


def test_a_grader_owner_reads_no_completion(api_for, completion):
    owner = api_for(role="grader_owner", organization=completion.organization)
    assert owner.get(path_of(completion)).status_code == 404
