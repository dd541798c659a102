"""Rows of every model that has a page in the administration, and what must not be seen of them."""

import base64
from datetime import timedelta

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt
from django.contrib import admin
from django.contrib.auth.models import Group
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
from autotune.access.models import AuditChain, Role, StoredAnswer, Throttle, WebSession
from autotune.core import ids
from autotune.core.models import DamagedValue, DataKey, MasterKey, Reencryption
from autotune.webhooks.models import Delivery, Event
from graders.models import (
    GraderCheck,
    GraderGuard,
    GraderHour,
    GraderSecret,
    GraderStatistic,
    GraderStatusChange,
    Tally,
)
from scores.callbacks.registry import digest_of
from scores.models import AttemptEvidence, LiveAnswer, Pulse, ScoreCount, TaskCount, UncountedTask
from tests.factories import (
    SECRET,
    WEBHOOK_SECRET,
    ApiKeyFactory,
    CallbackFactory,
    ErasureFactory,
    ExportFactory,
    FeedbackFactory,
    LegalHoldFactory,
    OrganizationFactory,
    ReviewFactory,
    RewardEndpointFactory,
    ScoreFactory,
    UserFactory,
    WebhookFactory,
)

PROMPT = "a prompt that a customer wrote"
MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)


def address(model, view, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=args)


def populate(rows, *, first=0):
    """`rows` rows of every model; what must not be seen of them, by a name."""
    hidden = {"the grader's secret": SECRET, "the webhook's secret": WEBHOOK_SECRET}
    organization = OrganizationFactory()
    for n in range(first, first + rows):
        score = ScoreFactory(
            run__completion__prompt=PROMPT, value=n % 50 / 50, reasoning="because", grader__version_label=f"1.{n}"
        )
        grader = score.grader
        key = ApiKeyFactory(organization=organization, role="reviewer")
        hidden[f"key {n}"], hidden[f"digest {n}"] = key.text, bytes(key.digest).hex()
        Role.objects.create(name=f"role {n}", organization=organization, permissions=[])
        GraderCheck.objects.create(grader=grader, name="health", passed=n % 2 == 0, detail="said so")
        GraderStatusChange.objects.create(grader=grader, previous="inactive", current="active", reason="verified")
        for table in (GraderStatistic, GraderHour):
            table.objects.create(grader=grader, start=timezone.now(), scored=2, value_sum=1.0)
        Tally.objects.create(grader_id=grader.pk, scored=1)
        about = {"organization_id": organization.pk, "task_id": score.task_id, "model_id": "m", "source": "api"}
        ScoreCount.objects.create(
            **about, grader_version_id=grader.version_id, standing=0, span=0, start=timezone.now(), number=1, total_0=0,
            total_1=500, squares_0=0, squares_1=0, squares_2=250_000, squares_3=0, bins={"1000": 1},
        )  # fmt: skip
        TaskCount.objects.create(task_id=score.task_id, completions=1, rewarded=1, reward_high=500_000)
        UncountedTask.objects.create(task_id=ids.new())
        webhook = WebhookFactory(organization=organization, url=f"https://hooks.example.org/?token=hook-token-{n}")
        event = Event.objects.create(organization=organization, kind="score.failed", data={"said": PROMPT})
        Delivery.objects.create(webhook=webhook, event=event)
        hidden[f"a URL's token {n}"] = f"hook-token-{n}"
        StoredAnswer.objects.create(
            organization=organization, route=f"POST /{n}", key_digest=n.to_bytes(2), request_digest=b"r", status=202,
            answer=PROMPT, expires_at=timezone.now(),
        )  # fmt: skip
        GraderGuard.objects.create(grader=grader)
        Throttle.objects.create(subject=f"key:{n}", arrives_at=timezone.now())
        CallbackFactory(run=score.run, token=f"token-{n}")
        AttemptEvidence.objects.create(
            organization=organization, run=score.run, grader=grader, attempt=1, code="timeout", content={"said": PROMPT}
        )
        hidden[f"a second factor {n}"], hidden[f"a session {n}"] = f"second-factor-{n}", f"session-data-{n}"
        hidden[f"the digest of a callback's token {n}"] = digest_of(f"token-{n}").hex()
        Pulse.objects.create(name=f"work {n}", at=timezone.now())
        DamagedValue.objects.create(table="tasks_task", column="metadata", row=ids.new())
        MasterKey.objects.create(pk=f"old{n}", check_value=bytes(60))
        Reencryption.objects.create(column=f"app.Model.text{n}", settled_at=timezone.now(), due_at=timezone.now())
        ReviewFactory(run__completion__prompt=PROMPT, run__completion__task=score.task)
        FeedbackFactory(completion=score.completion, explanation=PROMPT)
        ErasureFactory(organization=organization, completion=score.completion, model_id="")
        LegalHoldFactory(organization=organization, task=score.task)
        endpoint = RewardEndpointFactory(task=score.task, token=f"live-token-{n}")
        hidden[f"an endpoint's token {n}"] = f"live-token-{n}"
        hidden[f"the digest of an endpoint's token {n}"] = bytes(endpoint.token_digest).hex()
        LiveAnswer.objects.create(
            organization=organization, task_version=score.task.version, completion=score.completion,
            answer_digest=n.to_bytes(32, "big"), model_id=score.completion.model_id,
        )  # fmt: skip
        ExportFactory(organization=organization, files={f"records-{n}.jsonl": PROMPT.encode()})
        AuditChain.objects.create(chain=ids.new(), number=n, digest=b"d", sealed_at=timezone.now())
        trail.record(action="tests.walk", resource="tests", organization=organization, object_id=score.public_id)
        others(n)
    return hidden


def stored_secrets():
    """What is encrypted at rest or wraps keys, in the forms in which a page might show it."""
    hidden = {}
    for key in DataKey.objects.all():
        hidden |= forms_of("a wrapped key", key.pk, bytes(key.wrapped))
    for secret in GraderSecret.objects.all():
        hidden |= forms_of("a secret's ciphertext", secret.pk, bytes(secret.__dict__["secret"]))
    return hidden


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
    WebSession.objects.create(user=person, address="127.0.0.1", key_digest=bytes([n]) * 32, data=f"session-data-{n}".encode(),
                              user_agent="Firefox/1", expires_at=timezone.now() + timedelta(hours=1))  # fmt: skip
    AccessAttempt.objects.create(username=f"p{n}@example.org", ip_address="127.0.0.1", failures_since_start=1)
    ClockedSchedule.objects.create(clocked_time=timezone.now() + timedelta(days=n))


def forms_of(what, pk, content):
    return {f"{what} {pk} hex": content.hex(), f"{what} {pk} base64": base64.b64encode(content).decode()}
