"""Every list and form of the admin site, with 50 rows of each model: few queries, and no secret in the HTML."""

import base64
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from autotune.access.audit import trail
from autotune.access.models import ApiKey, AuditChain, AuditEvent, Role, StoredAnswer, Throttle, User
from autotune.core import ids
from autotune.core.models import DataKey, Reencryption
from autotune.webhooks.models import Delivery, Event
from graders.models import GraderCheck, GraderGuard, GraderSecret, GraderStatistic, GraderStatusChange, Tally
from scores.callbacks import digest_of
from scores.models import LiveAnswer, Pulse
from tests.factories import (
    SECRET,
    WEBHOOK_SECRET,
    ApiKeyFactory,
    CallbackFactory,
    ErasureFactory,
    ExportFactory,
    LegalHoldFactory,
    OrganizationFactory,
    ReviewFactory,
    RewardEndpointFactory,
    ScoreFactory,
    UserFactory,
    WebhookFactory,
)

ROWS = 50
MOST_QUERIES = 15
OURS = ("core", "access", "webhooks", "graders", "tasks", "scores", "exports")
PROMPT = "a prompt that a customer wrote"
PASSWORD = "a-password-that-nobody-sees"
MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)


@pytest.fixture
def client_of(db):
    def login(user):
        client = Client()
        client.force_login(user)
        return client

    return login


@pytest.fixture
def world(db, keys_at_hand):
    """ROWS rows of every model, and what must not be seen of them."""
    hidden = {"the grader's secret": SECRET, "the webhook's secret": WEBHOOK_SECRET, "the password": PASSWORD}
    organization = OrganizationFactory()
    for n in range(ROWS):
        score = ScoreFactory(
            run__completion__prompt=PROMPT, value=n / ROWS, reasoning="because", grader__version_label=f"1.{n}"
        )
        grader = score.grader
        key = ApiKeyFactory(organization=organization, role="reviewer")
        hidden[f"key {n}"], hidden[f"digest {n}"] = key.text, bytes(key.digest).hex()
        Role.objects.create(name=f"role {n}", organization=organization, permissions=[])
        GraderCheck.objects.create(grader=grader, name="health", passed=n % 2 == 0, detail="said so")
        GraderStatusChange.objects.create(grader=grader, previous="inactive", current="active", reason="verified")
        GraderStatistic.objects.create(grader=grader, start=timezone.now(), scored=2, value_sum=1.0)
        Tally.objects.create(grader_id=grader.pk, scored=1)
        webhook = WebhookFactory(organization=organization, url=f"https://hooks.example.org/?token=hook-token-{n}")
        event = Event.objects.create(organization=organization, kind="score.failed", data={"said": PROMPT})
        Delivery.objects.create(webhook=webhook, event=event)
        hidden[f"a URL's token {n}"] = f"hook-token-{n}"
        StoredAnswer.objects.create(
            organization=organization, route=f"POST /{n}", key_digest=bytes([n]), request_digest=b"r", status=202,
            answer=PROMPT, expires_at=timezone.now(),
        )  # fmt: skip
        GraderGuard.objects.create(grader=grader)
        Throttle.objects.create(subject=f"key:{n}", arrives_at=timezone.now())
        CallbackFactory(run=score.run, token=f"token-{n}")
        hidden[f"a second factor {n}"], hidden[f"a session {n}"] = f"second-factor-{n}", f"session-key-{n}"
        hidden[f"the digest of a callback's token {n}"] = digest_of(f"token-{n}").hex()
        Pulse.objects.create(name=f"work {n}", at=timezone.now())
        Reencryption.objects.create(column=f"app.Model.text{n}", settled_at=timezone.now(), due_at=timezone.now())
        ReviewFactory(run__completion__prompt=PROMPT, run__completion__task=score.task)
        ErasureFactory(organization=organization, completion=score.completion, model_id="")
        LegalHoldFactory(organization=organization, task=score.task)
        endpoint = RewardEndpointFactory(task=score.task, token=f"live-token-{n}")
        hidden[f"an endpoint's token {n}"] = f"live-token-{n}"
        hidden[f"the digest of an endpoint's token {n}"] = bytes(endpoint.token_digest).hex()
        LiveAnswer.objects.create(
            organization=organization, task_version=score.task.version, completion=score.completion,
            answer_digest=n.to_bytes(32, "big"),
        )  # fmt: skip
        ExportFactory(organization=organization, files={f"records-{n}.jsonl": PROMPT.encode()})
        AuditChain.objects.create(chain=ids.new(), number=n, digest=b"d", sealed_at=timezone.now())
        trail.record(action="tests.walk", resource="tests", organization=organization, object_id=score.public_id)
        others(n)
    keys_at_hand()
    person = User.objects.create_user("boss@example.org", PASSWORD, is_staff=True, is_superuser=True)
    hidden["a password's hash"] = person.password
    for key in DataKey.objects.all():
        hidden |= forms_of("a wrapped key", key.pk, bytes(key.wrapped))
    for secret in GraderSecret.objects.all():
        hidden |= forms_of("a secret's ciphertext", secret.pk, bytes(secret.__dict__["secret"]))
    return person, hidden


def others(n):
    """Rows of the apps that are not ours."""
    Group.objects.create(name=f"group {n}")
    interval = IntervalSchedule.objects.create(every=n + 100, period="seconds")
    PeriodicTask.objects.create(name=f"periodic {n}", task="nothing", interval=interval, enabled=False)
    CrontabSchedule.objects.create(minute=str(n))
    SolarSchedule.objects.create(event="sunrise", latitude=n, longitude=n)
    person = UserFactory()
    Authenticator.objects.create(user=person, type="totp", data={"secret": f"second-factor-{n}"})
    SocialAccount.objects.create(user=person, provider="oidc-1", uid=f"subject-{n}", extra_data={"token": "x"})
    UserSession.objects.create(user=person, ip="127.0.0.1", session_key=f"session-key-{n}", user_agent="Firefox/1")
    AccessAttempt.objects.create(username=f"p{n}@example.org", ip_address="127.0.0.1", failures_since_start=1)
    ClockedSchedule.objects.create(clocked_time=timezone.now() + timedelta(days=n))


def forms_of(what, pk, octets):
    return {f"{what} {pk} hex": octets.hex(), f"{what} {pk} base64": base64.b64encode(octets).decode()}


def address(model, view, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=args)


def faults(client, path, hidden, *, most=MOST_QUERIES):
    """What is wrong with a page, in words."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = client.get(path)
    html = answer.content.decode()
    found = [f"{path}: status {answer.status_code}"] if answer.status_code != 200 else []
    if len(queries) > most:
        found.append(f"{path}: {len(queries)} queries\n  " + "\n  ".join(q["sql"][:150] for q in queries))
    found += [f"{path}: shows {name}" for name, text in hidden.items() if text in html]
    return found + [f"{path}: shows octets" for sign in ("Ciphertext(", "&lt;memory at", "b&#x27;") if sign in html]


def test_every_model_of_ours_has_a_page_with_columns_a_search_and_filters():
    lacking = []
    for model in (model for app in OURS for model in apps.get_app_config(app).get_models()):
        page = admin.site._registry.get(model)
        if page is None:
            lacking.append(f"{model._meta.label}: not registered")
        elif tuple(page.list_display) == ("__str__",) or not page.search_fields or not page.list_filter:
            lacking.append(f"{model._meta.label}: lacks columns, a search or filters")
    assert lacking == []


def test_every_list_opens_with_50_rows_in_few_queries_and_shows_no_secret(world, client_of):
    person, hidden = world
    client, found = client_of(person), []
    for model in MODELS:
        assert model._base_manager.count() >= ROWS, model._meta.label
        found += faults(client, address(model, "changelist"), {**hidden, "a prompt": PROMPT})
    assert found == []


def test_every_form_opens_in_few_queries_and_shows_no_secret(world, client_of):
    person, hidden = world
    client, found = client_of(person), []
    for model in MODELS:
        found += faults(client, address(model, "change", model._base_manager.order_by("pk").last().pk), hidden)
    assert found == []


def test_every_list_can_be_searched_for_anything(world, client_of):
    person, _ = world
    client, found = client_of(person), []
    for model in MODELS:
        for text in ("grader", "1", "grader_01jd0000000000000000000000", "%'\"", "é"):
            answer = client.get(address(model, "changelist"), {"q": text})
            if answer.status_code != 200:
                found.append(f"{model._meta.label} {text!r}: {answer.status_code}")
    assert found == []


def test_every_filter_of_ours_can_be_chosen(world, client_of):
    person, _ = world
    client, found = client_of(person), []
    for model in MODELS:
        if model._meta.app_label in OURS:
            page = client.get(address(model, "changelist"))
            for spec in page.context["cl"].filter_specs:
                for choice in list(spec.choices(page.context["cl"]))[1:3]:
                    answer = client.get(address(model, "changelist") + choice["query_string"])
                    if answer.status_code != 200:
                        found.append(f"{model._meta.label} {choice}: {answer.status_code}")
    assert found == []


def test_records_cannot_be_added_or_deleted(world, client_of):
    person, _ = world
    client, found = client_of(person), []
    for model in MODELS:
        page = admin.site._registry[model]
        if model._meta.app_label in OURS and not page.has_change_permission(type("R", (), {"user": person})):
            row = model._base_manager.order_by("pk").last()
            before = model._base_manager.count()
            attempts = (address(model, "add"), address(model, "delete", row.pk))
            for path in attempts:
                found += [path] if client.post(path, {"post": "yes"}).status_code != 403 else []
            traces = len(attempts) if model is AuditEvent else 0  # each refusal is on the trail
            assert model._base_manager.count() == before + traces
    assert found == []


def test_nobody_but_staff_opens_the_admin_site(client_of, db):
    user = User.objects.create_user("someone@example.org", PASSWORD)
    assert client_of(user).get(address(ApiKey, "changelist")).status_code == 302
    assert Client().get(address(ApiKey, "changelist")).status_code == 302
