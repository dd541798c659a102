"""No page of the administration shows a secret: lists, forms, histories, confirmations, suggestions, refusals."""

import pytest
from django.contrib import admin
from django.urls import reverse

from autotune.access.models import User
from tests.site.admin.world import MODELS, address, populate, stored_secrets

OCTETS = ("Ciphertext(", "&lt;memory at", "b&#x27;", "pbkdf2_", "argon2", "md5$")


@pytest.fixture
def hidden(db, keys_at_hand):
    planted = populate(3)
    keys_at_hand()
    return {**planted, **stored_secrets()}


def faults(html, path, hidden):
    return [f"{path}: {name}" for name, text in hidden.items() if text in html] + [
        f"{path}: {sign}" for sign in OCTETS if sign in html
    ]


def test_no_list_form_or_history_shows_a_secret(boss, hidden):
    problems = []
    for model in MODELS:
        row = model._base_manager.order_by("pk").last()
        pages = [address(model, "changelist"), address(model, "change", row.pk), address(model, "history", row.pk)]
        for path in pages:
            problems += faults(boss.get(path).content.decode(), path, hidden)
    assert problems == []


def test_no_confirmation_of_an_action_shows_a_secret(boss, hidden):
    problems = []
    for model in MODELS:
        row = model._base_manager.order_by("pk").last()
        page = boss.get(address(model, "changelist"))
        names = (
            [name for name, _ in page.context["action_form"].fields["action"].choices if name]
            if page.context.get("action_form")
            else []
        )
        for name in names:
            if name in ("verify", "check_health", "send_test"):
                continue  # they call out
            body = {"action": name, "_selected_action": [str(row.pk)], "index": 0}
            answer = boss.post(address(model, "changelist"), body, follow=True)
            assert answer.status_code == 200, (model, name)
            problems += faults(answer.content.decode(), f"{model._meta.label} {name}", hidden)
    assert problems == []


def test_no_search_for_a_secret_finds_or_repeats_its_row(boss, hidden):
    """Typing a digest must not reveal whose it is."""
    problems = []
    for model in (model for model in MODELS if admin.site._registry[model].search_fields):
        for name in ("digest 0", "the digest of an endpoint's token 0", "the digest of a callback's token 0"):
            answer = boss.get(address(model, "changelist"), {"q": hidden[name]})
            if answer.status_code != 200 or answer.context["cl"].result_count:
                problems.append((model._meta.label, name))
    assert problems == []


def test_no_suggestion_shows_a_secret(boss, hidden):
    fields = (("access", "membership", "user"), ("access", "membership", "role"), ("access", "role", "organization"))
    for app, model, field in fields:
        names = {"app_label": app, "model_name": model, "field_name": field, "term": ""}
        answer = boss.get(reverse("admin:autocomplete"), names)
        assert answer.status_code == 200
        assert faults(answer.content.decode(), field, hidden) == []


def test_a_password_hash_is_never_shown(boss):
    person = User.objects.create_user("p@example.org", "a-password-that-nobody-sees")
    html = boss.get(address(User, "change", person.pk)).content.decode()
    assert person.password not in html
    assert person.password.rpartition("$")[2] not in html


def test_columns_and_forms_name_no_secret_member():
    secret = {"digest", "token_digest", "secret", "previous_secret", "wrapped", "file_key", "session_key", "signature",
              "body_digest", "answer_digest", "content_digest", "prompt_digest", "key_digest", "request_digest", "mac"}  # fmt: skip
    harmless = {("TaskVersion", "digest"), ("GraderVersion", "digest")}  # of content, which names it in the API too
    problems = []
    for model, page in admin.site._registry.items():
        for name in page.list_display:
            if name in secret and (model.__name__, name) not in harmless:
                problems.append((model.__name__, name))
    assert problems == []
