"""The pages of reward endpoints."""

import html
import re

import pytest

from autotune.access.models import AuditEvent
from scores.models import RewardEndpoint
from tasks.models import Completion
from tests.factories import RewardEndpointFactory, TaskFactory, UserFactory, public

ADDRESS = re.compile(r"http[^\s<\"]+/api/v1/rewards/[^\s<\"?]+")


def new(client, task, **more):
    """The form of a new one, filled in: with the ticket that the page gave it."""
    ticket = ticket_at(client, "/reward-endpoints/new")
    return {"task_id": public("task", task), "protocol": "openrlhf", "unscored": "hold", "ticket": ticket, **more}


def ticket_at(client, path):
    return re.search(r'name="ticket" value="([^"]+)"', client.get(path).content.decode())[1]


def events(**more):
    """(action, object, outcome) of the audit events of sent forms."""
    rows = AuditEvent.objects.filter(method="POST", **more).order_by("at", "pk")
    return list(rows.values_list("action", "object_id", "outcome"))


def test_the_list_shows_protocol_task_and_results(operator, endpoint, see):
    seen = see(operator, "/reward-endpoints")
    for words in ("OpenRLHF", "Contract clauses", "on", "neutral 0.250", "1,000", "4 %", "never"):
        assert words in seen


def test_an_empty_list_links_to_the_form(operator, see):
    seen = see(operator, "/reward-endpoints")
    assert "No reward endpoints yet" in seen
    assert 'href="/reward-endpoints/new"' in seen.html
    assert "No endpoint matches" in see(operator, "/reward-endpoints?protocol=slime")


def test_the_list_takes_few_queries(operator, task, django_assert_max_num_queries):
    for _ in range(30):
        RewardEndpointFactory(task=TaskFactory(organization=operator.organization))
    with django_assert_max_num_queries(20):
        assert operator.get("/reward-endpoints").status_code == 200


@pytest.mark.parametrize("role", ["reviewer", "grader_owner"])
def test_a_role_without_training_data_is_refused(visitor, operator, path, role):
    other = visitor(role, operator.organization)
    for address in ("/reward-endpoints", "/reward-endpoints/new", path):
        assert other.get(address).status_code == 403
    assert other.post(f"{path}/rotate").status_code == 403


def test_a_stranger_finds_nothing(visitor, path):
    stranger = visitor("training_operator")
    assert stranger.get(path).status_code == 404
    for action in ("switch", "rotate", "delete", "try", "change"):
        assert stranger.post(f"{path}/{action}", {"prompt": "a", "response": "b"}).status_code == 404
    assert RewardEndpoint.objects.get().enabled


def test_a_new_endpoint_shows_its_address_once_with_flags_to_copy(operator, task, see):
    answer = operator.post("/reward-endpoints/new", new(operator, task, model_id="osprey-32b"))
    endpoint = RewardEndpoint.objects.get()
    text = html.unescape(answer.content.decode())
    (url,) = set(ADDRESS.findall(text))
    assert answer.status_code == 201
    assert f'--reward.remote_url "{url}"' in text
    assert (endpoint.model_id, endpoint.created_by) == ("osprey-32b", operator.user)
    assert url not in see(operator, f"/reward-endpoints/{public('rwd', endpoint)}").html


def test_the_new_address_answers(operator, task, client):
    text = operator.post(
        "/reward-endpoints/new", new(operator, task, unscored="neutral", neutral_value="0.5", deadline_ms="1")
    ).content.decode()
    address = ADDRESS.search(html.unescape(text))[0]
    answer = client.post(
        address[address.index("/api") :], {"query": ["2+2? 4"], "prompts": ["2+2? "]}, content_type="application/json"
    )
    assert answer.json()["rewards"] == [0.5]


def test_a_refused_form_keeps_its_input_and_creates_nothing(operator, task):
    answer = operator.post("/reward-endpoints/new", new(operator, task, unscored="neutral", model_id="kept"))
    text = answer.content.decode()
    assert answer.status_code == 400
    assert "`neutral` requires a number" in html.unescape(text)
    assert 'value="kept"' in text
    assert not RewardEndpoint.objects.exists()


def test_c4_the_form_and_the_page_show_the_policy_for_answers_without_text(operator, task, path, endpoint, see):
    operator.post("/reward-endpoints/new", new(operator, task, without_text="strict", model_id="strict-model"))
    strict_endpoint = RewardEndpoint.objects.get(model_id="strict-model")
    assert strict_endpoint.without_text == "strict"
    assert "A text of only spaces gets no score either." in see(
        operator, f"/reward-endpoints/{public('rwd', strict_endpoint)}"
    )
    change = {"unscored": "hold", "without_text": "empty"}
    assert operator.post(f"{path}/change", change).status_code == 302
    RewardEndpoint.objects.filter(pk=endpoint.pk).update(without_text_count=1234)
    page = see(operator, path)
    assert "Judge an empty text" in page
    assert "1,234" in page
    assert 'value="empty" checked' in see(operator, f"{path}/change").html
    assert operator.post(f"{path}/change", change | {"without_text": "zero"}).status_code == 400
    operator.post(f"{path}/change", {"unscored": "hold"})  # an older form sends no policy and changes none
    endpoint.refresh_from_db()
    assert endpoint.without_text == "empty"


def test_a_deadline_over_the_trainers_timeout_is_refused_at_its_field(operator, task):
    answer = operator.post("/reward-endpoints/new", new(operator, task, deadline_ms="180000"))
    assert "gives up soon after" in answer.content.decode()


def test_a_task_of_another_organization_is_refused(operator):
    assert operator.post("/reward-endpoints/new", new(operator, TaskFactory())).status_code == 400
    assert not RewardEndpoint.objects.exists()


def test_rotation_shows_another_address_once(operator, endpoint, path, see):
    before = bytes(endpoint.token_digest)
    text = html.unescape(operator.post(f"{path}/rotate", {"ticket": ticket_at(operator, path)}).content.decode())
    endpoint.refresh_from_db()
    assert bytes(endpoint.token_digest) != before
    assert "The old one no longer works" in text
    assert ADDRESS.search(text)[0] not in see(operator, path).html


def test_reloading_the_response_of_a_rotation_keeps_the_shown_address(operator, endpoint, path):
    typed = {"ticket": ticket_at(operator, path)}
    operator.post(f"{path}/rotate", typed)
    endpoint.refresh_from_db()
    shown = bytes(endpoint.token_digest)
    again = operator.post(f"{path}/rotate", typed)
    endpoint.refresh_from_db()
    text = html.unescape(again.content.decode())
    assert (again.status_code, bytes(endpoint.token_digest)) == (409, shown)
    assert "This form was already submitted" in text
    assert not ADDRESS.search(text)


def test_a_form_sent_twice_makes_one_endpoint(operator, task):
    typed = new(operator, task)
    assert operator.post("/reward-endpoints/new", typed).status_code == 201
    again = operator.post("/reward-endpoints/new", typed)
    assert (again.status_code, "This form was already submitted" in again.content.decode()) == (400, True)
    assert RewardEndpoint.objects.count() == 1


def test_without_the_form_s_ticket_nothing_is_made(operator, task, endpoint, path):
    before = bytes(endpoint.token_digest)
    assert operator.post("/reward-endpoints/new", new(operator, task, ticket="")).status_code == 400
    assert operator.post(f"{path}/rotate").status_code == 400
    endpoint.refresh_from_db()
    assert (bytes(endpoint.token_digest), RewardEndpoint.objects.count()) == (before, 1)


def test_the_audit_log_uses_the_action_names_of_the_api(operator, task, graders_say):
    graders_say(0.8)
    operator.post("/reward-endpoints/new", new(operator, task, unscored="neutral"))
    operator.post("/reward-endpoints/new", new(operator, task))
    endpoint_id = public("rwd", RewardEndpoint.objects.get())
    path = f"/reward-endpoints/{endpoint_id}"
    operator.post(f"{path}/change", {"unscored": "hold", "model_id": "m-2"})
    operator.post(f"{path}/switch", {"enabled": "true"})
    operator.post(f"{path}/try", {"prompt": "a", "response": "b"})
    operator.post(f"{path}/rotate", {"ticket": ticket_at(operator, path)})
    operator.post(f"{path}/delete")
    assert events() == [
        ("reward_endpoints.create", "", "refused"),
        ("reward_endpoints.create", endpoint_id, "succeeded"),
        ("reward_endpoints.update", endpoint_id, "succeeded"),
        ("reward_endpoints.update", endpoint_id, "succeeded"),
        ("rewards.create", endpoint_id, "succeeded"),
        ("reward_endpoints.update", endpoint_id, "succeeded"),
        ("reward_endpoints.delete", endpoint_id, "succeeded"),
    ]


def test_it_is_switched_off_and_on(operator, endpoint, path, see):
    operator.post(f"{path}/switch", {"enabled": "false"})
    assert "Switched off." in see(operator, path)
    operator.post(f"{path}/switch", {"enabled": "true"})
    endpoint.refresh_from_db()
    assert endpoint.enabled


def test_it_is_changed(operator, endpoint, path):
    answer = operator.post(
        f"{path}/change", {"unscored": "hold", "neutral_value": "", "model_id": "m-2", "deadline_ms": ""}
    )
    endpoint.refresh_from_db()
    assert answer.url == path
    assert (endpoint.unscored, endpoint.neutral_value, endpoint.model_id, endpoint.deadline_ms) == (
        "hold",
        None,
        "m-2",
        170_000,
    )


def test_a_change_that_does_not_fit_is_refused(operator, endpoint, path):
    answer = operator.post(
        f"{path}/change", {"unscored": "neutral", "neutral_value": "", "model_id": "m-2", "deadline_ms": ""}
    )
    endpoint.refresh_from_db()
    assert answer.status_code == 400
    assert endpoint.model_id == "live"


def test_it_is_deleted_after_confirmation(operator, path, see):
    assert "Its address stops working immediately" in see(operator, f"{path}/delete")
    assert RewardEndpoint.objects.exists()
    assert operator.post(f"{path}/delete").url == "/reward-endpoints"
    assert not RewardEndpoint.objects.exists()


@pytest.mark.parametrize(
    ("protocol", "sent", "answered"),
    [
        ("openrlhf", '"query": [ "2+2? 4" ]', '"rewards": [ 0.8 ]'),
        ("slime", '"response": "4"', "0.8"),
        ("verify", '"expected_answer": "four"', '"reward": 0.8'),
    ],
)
def test_an_answer_can_be_tried_in_place(operator, endpoint, path, graders_say, protocol, sent, answered):
    RewardEndpoint.objects.update(protocol=protocol)
    graders_say(0.8)
    answer = operator.post(f"{path}/try", {"prompt": "2+2? ", "response": "4", "label": "four"})
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())
    assert answer.status_code == 200
    assert sent in text
    assert answered in text
    assert (Completion.objects.get().prompt, Completion.objects.get().response) == ("2+2? ", "4")
    endpoint.refresh_from_db()
    assert endpoint.answered == 1000  # only those of trainers


def test_a_sample_not_scored_in_time_gets_the_policy(operator, endpoint, path, graders_say):
    graders_say(None)
    text = operator.post(f"{path}/try", {"prompt": "a", "response": "b"}).content.decode()
    assert "answered with a stand-in: pending" in text
    RewardEndpoint.objects.update(unscored="hold", neutral_value=None)
    text = operator.post(f"{path}/try", {"prompt": "a", "response": "b"}).content.decode()
    assert '<span class="badge bad">503</span>' in text


def test_a_disabled_or_orphaned_endpoint_is_reported_when_tried(operator, endpoint, path):
    RewardEndpoint.objects.update(enabled=False)
    answer = operator.post(f"{path}/try", {"prompt": "a", "response": "b"})
    assert (answer.status_code, "switched off" in answer.content.decode()) == (400, True)
    RewardEndpoint.objects.update(enabled=True, created_by=UserFactory())
    answer = operator.post(f"{path}/try", {"prompt": "a", "response": "b"})
    assert "can no longer use the organization" in answer.content.decode()
    assert not Completion.objects.exists()


def test_a_text_that_cannot_be_stored_is_reported_at_its_field(operator, endpoint, path):
    answer = operator.post(f"{path}/try", {"prompt": "a", "response": "x" * (1 << 20 | 1)})
    assert answer.status_code == 400
    assert not Completion.objects.exists()


def test_the_page_has_the_lines_of_each_trainer_for_its_task(operator, task, endpoint, path, see):
    seen = see(operator, path)
    for words in (
        '--reward.remote_url "$URL"', f'reward_func("{public("task", task)}"', "pkg://autotune_sdk.integrations.verl",
        "autotune_sdk.integrations.verifiers:reward", "--external_plugins autotune_plugin.py",
    ):  # fmt: skip
        assert words in seen


def test_it_shows_how_long_rewards_took(operator, task, endpoint, path, see):
    from datetime import timedelta

    from tests.factories import ScoreFactory

    for seconds in (1, 2, 3):
        score = ScoreFactory(run__completion__task=task, run__completion__model_id="live")
        reward = score.completion.reward
        type(reward).objects.filter(pk=reward.pk).update(
            scored_at=score.completion.created_at + timedelta(seconds=seconds)
        )
    seen = see(operator, path)
    assert "Time to reward 2.0 s" in seen
    assert "95 % within 3.0 s" in seen


def test_hostile_names_are_text(operator, see):
    task = TaskFactory(organization=operator.organization, name="<script>alert(1)</script>\u202e" + "a" * 160)
    endpoint = RewardEndpointFactory(task=task, created_by=operator.user, model_id="<img src=x onerror=alert(1)>")
    for address in ("/reward-endpoints", f"/reward-endpoints/{public('rwd', endpoint)}", "/reward-endpoints/new"):
        seen = see(operator, address)
        assert "<script>alert" not in seen.html
        assert "<img src=x" not in seen.html


def test_the_page_takes_few_queries(operator, path, django_assert_max_num_queries):
    with django_assert_max_num_queries(20):
        assert operator.get(path).status_code == 200
