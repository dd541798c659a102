"""The forms: what is saved, what is refused at which field, and the secret that is shown once."""

import json
import re

import pytest
from django.conf import settings

from autotune.access.models import AuditEvent
from graders.models import Grader, GraderSecret
from tests.factories import SECRET, TaskFactory

NEW = {"name": "Law", "endpoint": "https://law.example.org/v1", "visibility": "private"}


def secret_in(answer):
    match = re.search(r"atgs_[\w-]{40,}", answer.content.decode())
    return match and match.group()


def test_the_secret_of_a_registered_grader_is_shown_only_on_the_response(owner, pages):
    answer = owner.post(
        "/graders/new", NEW | {"capabilities__domains": "law\n\n contracts ", "limits__timeout_ms": 900}
    )
    grader = Grader.objects.get()
    secret = secret_in(answer)
    assert answer.status_code == 200
    assert secret == str(GraderSecret.objects.get().secret)
    assert answer["Cache-Control"] == "no-store, private" or "no-store" in answer["Cache-Control"]
    assert (grader.organization, grader.created_by, grader.status) == (owner.organization, owner.user, "inactive")
    assert (grader.domains, grader.timeout_ms, grader.max_concurrency) == (["law", "contracts"], 900, 16)
    for name in ("grader", "grader_settings", "grader_health", "grader_verify", "grader_rotate"):
        assert secret not in owner.get(pages.address(name, grader)).content.decode()


def test_the_form_and_the_api_say_that_the_rate_counts_completions(owner):
    field = owner.get("/graders/new").context["form"]["limits__rate_per_minute"]
    assert field.label == "Completions per minute"
    assert "completions, not calls" in field.help_text
    schemas = json.loads((settings.BASE_DIR / "docs" / "openapi.json").read_text())["components"]["schemas"]
    for name in ("LimitsIn", "LimitsOut"):
        assert "`ratePerMinute` counts completions, not calls" in schemas[name]["description"]


def test_the_audit_log_names_the_registered_grader(owner):
    owner.post("/graders/new", NEW)
    event = AuditEvent.objects.get(action="endpoint_graders.create")
    assert (event.object_id, event.outcome) == (Grader.objects.get().public_id, "succeeded")


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ({"name": ""}, "required"),
        ({"endpoint": "http://law.example.org"}, "https"),
        ({"endpoint": "https://10.0.0.1"}, "address"),
        ({"limits__timeout_ms": "99"}, "100"),
        ({"pins": "no pin"}, "pin"),
        ({"capabilities__domains": "x" * 65}, "64"),
    ],
)
def test_a_refused_form_keeps_what_was_typed_and_saves_nothing(owner, typed, problem):
    answer = owner.post("/graders/new", NEW | {"description": "Kept <b>as typed</b>"} | typed)
    text = answer.content.decode()
    assert answer.status_code == 400
    assert "Nothing was saved." in text
    assert problem in " ".join(re.findall(r'<ul class="faults".*?</ul>', text, re.DOTALL))
    assert "Kept &lt;b&gt;as typed&lt;/b&gt;" in text
    assert not Grader.objects.exists()


def test_a_taken_name_is_reported_at_its_field(owner, grader):
    answer = owner.post("/graders/new", NEW)
    assert answer.status_code == 400
    assert "has this name" in answer.content.decode()
    assert Grader.objects.count() == 1


def test_a_change_saves_what_was_changed_and_nothing_else(owner, grader, pages):
    typed = shown(owner.get(pages.address("grader_edit", grader)))
    Grader.objects.update(description="Changed by a rival")
    answer = owner.post(
        pages.address("grader_edit", grader), typed | {"name": "Case law", "limits__rate_per_minute": "60"}
    )
    grader.refresh_from_db()
    assert answer.status_code == 302
    assert (grader.name, grader.rate_per_minute, grader.description) == ("Case law", 60, "Changed by a rival")
    assert (grader.domains, grader.max_batch_size, grader.status) == (["law", "contracts"], 100, "active")
    assert str(GraderSecret.objects.get().secret) == SECRET


def test_an_emptied_limit_returns_to_its_default(owner, grader, pages):
    Grader.objects.update(timeout_ms=900, pins=["A" * 43 + "="])
    typed = shown(owner.get(pages.address("grader_edit", grader)))
    owner.post(pages.address("grader_edit", grader), typed | {"limits__timeout_ms": "", "pins": ""})
    grader.refresh_from_db()
    assert (grader.timeout_ms, grader.pins) == (4000, [])


def test_another_host_makes_a_new_secret_which_the_answer_shows(owner, grader, pages):
    typed = shown(owner.get(pages.address("grader_edit", grader)))
    answer = owner.post(pages.address("grader_edit", grader), typed | {"endpoint": "https://elsewhere.example.org"})
    grader.refresh_from_db()
    assert secret_in(answer) == str(GraderSecret.objects.get().secret) != SECRET
    assert (grader.status, grader.verified_at) == ("inactive", None)


def test_a_rotation_shows_the_new_secret_and_keeps_the_old_one_for_the_grace_period(owner, grader, pages):
    answer = owner.post(pages.address("grader_rotate", grader), pages.rotation(owner, grader, grace_hours="2"))
    current = GraderSecret.objects.get(current=True)
    assert secret_in(answer) == str(current.secret) != SECRET
    assert GraderSecret.objects.get(current=False).valid_until is not None
    again = owner.post(pages.address("grader_rotate", grader), pages.rotation(owner, grader, grace_hours="2"))
    assert again.status_code == 400
    assert secret_in(again) is None
    assert "still valid" in again.content.decode()
    forced = owner.post(
        pages.address("grader_rotate", grader), pages.rotation(owner, grader, grace_hours="0", force="on")
    )
    assert secret_in(forced) == str(GraderSecret.objects.get().secret)


def test_reloading_the_response_of_a_rotation_creates_no_second_secret(owner, grader, pages):
    typed = pages.rotation(owner, grader, grace_hours="0", force="on")
    secret = secret_in(owner.post(pages.address("grader_rotate", grader), typed))
    again = owner.post(pages.address("grader_rotate", grader), typed)
    assert (again.status_code, secret_in(again)) == (400, None)
    assert "This form was already submitted" in again.content.decode()
    assert str(GraderSecret.objects.get().secret) == secret


def test_a_rotation_without_the_ticket_of_the_form_creates_nothing(owner, grader, pages):
    answer = owner.post(pages.address("grader_rotate", grader), {"grace_hours": "0", "force": "on"})
    assert (answer.status_code, "This form has expired" in answer.content.decode()) == (400, True)
    assert str(GraderSecret.objects.get().secret) == SECRET


def test_a_grace_period_that_is_too_long_rotates_nothing(owner, grader, pages):
    assert (
        owner.post(pages.address("grader_rotate", grader), pages.rotation(owner, grader, grace_hours="721")).status_code
        == 400
    )
    assert str(GraderSecret.objects.get().secret) == SECRET


def test_it_is_switched_off_and_on_again(owner, grader, pages):
    for to, status in (("off", "inactive"), ("on", "active")):
        assert owner.post(pages.address("grader_switch", grader), {"to": to}).status_code == 302
        grader.refresh_from_db()
        assert grader.status == status


def test_an_unverified_grader_cannot_be_switched_on_and_the_page_says_why(owner, grader, pages):
    Grader.objects.update(status="inactive", verified_at=None)
    answer = owner.post(pages.address("grader_switch", grader), {"to": "on"}, follow=True)
    assert "Verify the grader first" in answer.content.decode()
    assert Grader.objects.get().status == "inactive"


def test_it_is_deleted_after_its_name_is_typed(owner, grader, pages):
    assert owner.post(pages.address("grader_delete", grader), {"name": "law"}).status_code == 400
    assert Grader.objects.live().exists()
    assert owner.post(pages.address("grader_delete", grader), {"name": "Law"}).status_code == 302
    assert not Grader.objects.live().exists()


def test_a_grader_in_use_is_not_deleted_and_the_page_says_why(owner, grader, pages):
    TaskFactory(organization=owner.organization, graders=[grader], name="Contracts")
    answer = owner.post(pages.address("grader_delete", grader), {"name": "Law"})
    assert answer.status_code == 400
    assert "The grader was not deleted." in answer.content.decode()
    assert Grader.objects.live().exists()


def test_a_name_with_odd_spaces_can_be_typed(owner, grader, pages):
    Grader.objects.update(name="  two \u202e spaces  ")
    assert owner.post(pages.address("grader_delete", grader), {"name": " two \u202e spaces"}).status_code == 302


def test_the_cookie_and_messages_contain_no_secret(owner, grader, pages):
    answer = owner.post(pages.address("grader_rotate", grader), pages.rotation(owner, grader, grace_hours="0"))
    secret = secret_in(answer)
    assert secret not in str(owner.cookies)
    assert secret not in str(dict(owner.session))
    assert settings.SESSION_COOKIE_NAME in owner.cookies


def shown(answer):
    """What a browser sends of the form as it was shown, hidden parts with it."""
    sent = {}
    for field in answer.context["form"]:
        value = field.value()
        text = "\n".join(value) if isinstance(value, list) else "" if value is None else str(value)
        assert f'name="{field.html_initial_name}"' in answer.content.decode()
        sent[field.html_initial_name] = text
        if value is not False:
            sent[field.name] = "on" if value is True else text
    return sent
