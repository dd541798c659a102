"""Factories that fill in what a test does not care about."""

import base64
import hashlib
from datetime import timedelta

import factory
from django.utils import timezone
from factory.django import DjangoModelFactory

from autotune.access.keys import tokens
from autotune.access.models import ApiKey, Membership, Organization, Role, User
from autotune.core import ids
from autotune.webhooks.models import Delivery, Event, Webhook
from exports.files import storing
from exports.models import Export, ExportFile
from graders.models import Grader, GraderSecret, GraderVersion
from graders.states import GraderStatus
from scores.callbacks.registry import digest_of
from scores.feedback.models import Feedback
from scores.live.endpoints import digest_of as digest_of_address
from scores.models import (
    Callback,
    CallbackItem,
    Erasure,
    LegalHold,
    Review,
    Reward,
    RewardEndpoint,
    Score,
    WorkflowRun,
)
from tasks.models import Completion, PanelMember, Task, TaskVersion

WEBHOOK_SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
SECRET = "atgs_factory00000000000000000000000000000000000000"


class OrganizationFactory(DjangoModelFactory):
    class Meta:
        model = Organization

    name = factory.Sequence(lambda n: f"Organization {n}")


class UserFactory(DjangoModelFactory):
    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"person{n}@example.org")
    password = "!"


class ApiKeyFactory(DjangoModelFactory):
    """A key whose text is in `.text`; `role` is the name of a built-in role."""

    class Meta:
        model = ApiKey

    organization = factory.SubFactory(OrganizationFactory)
    user = factory.SubFactory(UserFactory)
    role = "organization_admin"
    name = "test key"

    @classmethod
    def _create(cls, model_class, *, role, organization, user, **fields):
        role = role if isinstance(role, Role) else Role.objects.get(organization=None, name=role)
        Membership.objects.get_or_create(organization=organization, user=user, defaults={"role": role})
        key, text = tokens.issue(organization=organization, user=user, role=role, **fields)
        key.text = text
        return key


class GraderFactory(DjangoModelFactory):
    """An active, verified grader with a secret (SECRET) and a version."""

    class Meta:
        model = Grader
        skip_postgeneration_save = True

    organization = factory.SubFactory(OrganizationFactory)
    created_by = factory.SubFactory(UserFactory)
    name = factory.Sequence(lambda n: f"Grader {n}")
    endpoint = "https://grader.example.org"
    status = GraderStatus.ACTIVE
    max_batch_size = 100
    verified_at = factory.LazyFunction(timezone.now)

    @factory.post_generation
    def secret(self, create, value, **_):
        GraderSecret.objects.create(
            grader=self, organization_id=self.organization_id, secret=value or SECRET, confirmed=True
        )

    @factory.post_generation
    def version_label(self, create, value, **_):
        self.version = GraderVersion.objects.create(grader=self, label=value or "1.0.0")
        self.save(update_fields=["version"])


class TaskFactory(DjangoModelFactory):
    """A task with a version and a panel.

    `graders=[…]` (a grader, or (grader, weight, part)), `aggregation=…`, `system_prompt=…`.
    """

    class Meta:
        model = Task
        skip_postgeneration_save = True

    organization = factory.SubFactory(OrganizationFactory)
    created_by = factory.SubFactory(UserFactory)
    name = factory.Sequence(lambda n: f"Task {n}")

    @classmethod
    def _create(cls, model_class, *args, graders=None, aggregation="mean", system_prompt=None, **fields):
        task = super()._create(model_class, *args, **fields)
        content = {
            "systemPrompt": system_prompt, "promptTemplate": "{{question}}", "responseSchema": None, "model": None,
        }  # fmt: skip
        task.version = TaskVersion.objects.create(
            task=task,
            organization=task.organization,
            created_by=task.created_by,
            digest=hashlib.sha256(task.name.encode()).hexdigest(),
            content=content,
            aggregation=aggregation,
        )
        task.save(update_fields=["version"])
        if graders is None:
            graders = [GraderFactory(organization=task.organization)]
        for position, entry in enumerate(graders):
            grader, weight, part = entry if isinstance(entry, tuple) else (entry, 1.0, "scoring")
            PanelMember.objects.create(
                task_version=task.version, grader=grader, weight=weight, part=part, position=position
            )
        return task


class CompletionFactory(DjangoModelFactory):
    """A completion without runs; create them by RunFactory, or use scores.intake."""

    class Meta:
        model = Completion

    task = factory.SubFactory(TaskFactory)
    organization = factory.SelfAttribute("task.organization")
    task_version = factory.SelfAttribute("task.version")
    created_by = factory.SelfAttribute("task.created_by")
    model_id = "model-a"
    prompt = "What is 2 + 2?"
    response = "4"


class RunFactory(DjangoModelFactory):
    class Meta:
        model = WorkflowRun

    completion = factory.SubFactory(CompletionFactory)
    organization = factory.SelfAttribute("completion.organization")
    task = factory.SelfAttribute("completion.task")
    grader = factory.LazyAttribute(lambda run: run.completion.task_version.members.first().grader)
    panel_size = 1
    purpose = factory.LazyAttribute(lambda run: "score" if run.panel_size else "shadow")
    deadline_at = factory.LazyFunction(lambda: timezone.now() + timedelta(days=1))


class ScoreFactory(DjangoModelFactory):
    """A score, with its run and completion and (unless `reward=False`) the reward of a panel of one."""

    class Meta:
        model = Score

    run = factory.SubFactory(RunFactory, status="completed", attempt=1)
    organization = factory.SelfAttribute("run.organization")
    completion = factory.SelfAttribute("run.completion")
    task = factory.SelfAttribute("run.task")
    grader = factory.SelfAttribute("run.grader")
    grader_version = factory.LazyAttribute(lambda score: score.grader.version)
    purpose = factory.SelfAttribute("run.purpose")
    value = 0.5
    confidence = 0.9
    raw_value = factory.SelfAttribute("value")
    source = factory.SelfAttribute("completion.source")
    held_out = factory.SelfAttribute("completion.held_out")

    @classmethod
    def _create(cls, model_class, *args, reward=True, **fields):
        score = super()._create(model_class, *args, **fields)
        if reward:
            Reward.objects.create(
                completion=score.completion,
                organization=score.organization,
                task=score.task,
                value=score.value,
                confidence=score.confidence,
                aggregation="mean",
                used=1,
                failed=0,
                source=score.source,
                held_out=score.held_out,
            )
        return score


class ErasureFactory(DjangoModelFactory):
    """A new erasure of a model's texts."""

    class Meta:
        model = Erasure

    organization = factory.SubFactory(OrganizationFactory)
    created_by = factory.SubFactory(UserFactory)
    model_id = "model-a"


class LegalHoldFactory(DjangoModelFactory):
    """A hold on a whole organization."""

    class Meta:
        model = LegalHold

    organization = factory.SubFactory(OrganizationFactory)
    created_by = factory.SubFactory(UserFactory)
    reason = "Case 12"


class ExportFactory(DjangoModelFactory):
    """A new export job. `files={"records.jsonl": b"…"}`: a completed one with these in the storage."""

    class Meta:
        model = Export

    organization = factory.SubFactory(OrganizationFactory)
    created_by = factory.SubFactory(UserFactory)
    query = factory.LazyFunction(dict)
    file_key = base64.b64encode(bytes(range(32))).decode()

    @classmethod
    def _create(cls, model_class, *args, files=None, **fields):
        if files:
            now = timezone.now()
            over = {"status": "completed", "completed_at": now, "expires_at": now + timedelta(days=7)}
            fields = {**over, "sha256": "0" * 64, **fields}
        export = super()._create(model_class, *args, **fields)
        for name, content in (files or {}).items():
            file_id = ids.new()
            stored = storing.store(export.pk, file_id, base64.b64decode(export.file_key), [content])
            ExportFile.objects.create(
                id=file_id, export=export, number=0, name=name, stored_as=stored.name, bytes=stored.bytes,
                sha256=stored.sha256, kind=name.partition(".")[0] if name.endswith(".json") else "data",
            )  # fmt: skip
        return export


class CallbackFactory(DjangoModelFactory):
    """A request that a grader accepted for `run`, with the token of its callback's address."""

    class Meta:
        model = Callback

    kind = "score"
    request_id = "r1"
    signature = "0" * 64
    include_dimensions = True
    include_explanation = True
    expires_at = factory.LazyFunction(lambda: timezone.now() + timedelta(days=7))

    @classmethod
    def _create(cls, model_class, *args, run, token="token", **fields):
        fields = {"grader": run.grader, "grader_version": run.grader.version, **fields}
        callback = super()._create(model_class, *args, token_digest=digest_of(token), **fields)
        CallbackItem.objects.create(callback=callback, run=run, attempt=run.attempt)
        return callback


class ReviewFactory(DjangoModelFactory):
    """An open review, with its run waiting for it."""

    class Meta:
        model = Review

    run = factory.SubFactory(
        RunFactory,
        status="waiting",
        waits_for="review",
        attempt=1,
        wake_at=factory.LazyFunction(lambda: timezone.now() + timedelta(days=30)),
    )
    organization = factory.SelfAttribute("run.organization")
    completion = factory.SelfAttribute("run.completion")
    task = factory.SelfAttribute("run.task")
    grader = factory.SelfAttribute("run.grader")
    grader_version = factory.LazyAttribute(lambda review: review.grader.version)
    value = 0.25
    confidence = 0.5
    reasoning = "Not sure."
    expires_at = factory.SelfAttribute("run.wake_at")


class FeedbackFactory(DjangoModelFactory):
    """A person's value 0.5 for a completion's grader, with an explanation."""

    class Meta:
        model = Feedback

    completion = factory.SubFactory(CompletionFactory)
    organization = factory.SelfAttribute("completion.organization")
    grader = factory.LazyAttribute(lambda feedback: feedback.completion.task_version.members.first().grader)
    grader_version = factory.LazyAttribute(lambda feedback: feedback.grader.version)
    rater = factory.SubFactory(UserFactory)
    value = 0.5
    raw_value = factory.SelfAttribute("value")
    explanation = "Right."


class RewardEndpointFactory(DjangoModelFactory):
    """An endpoint of OpenRLHF with the token `token`; its maker, `created_by`, may use it if they are a member."""

    class Meta:
        model = RewardEndpoint

    task = factory.SubFactory(TaskFactory)
    organization = factory.SelfAttribute("task.organization")
    created_by = factory.SelfAttribute("task.created_by")
    protocol = "openrlhf"
    model_id = "live"
    unscored = "neutral"
    neutral_value = 0.25
    deadline_ms = 170_000

    @classmethod
    def _create(cls, model_class, *args, token=None, **fields):
        token = token or f"token-{ids.new()}"
        row = super()._create(model_class, *args, token_digest=digest_of_address(token), **fields)
        row.token = token
        return row


class WebhookFactory(DjangoModelFactory):
    """An active webhook for `grader.status_changed`, with the secret WEBHOOK_SECRET."""

    class Meta:
        model = Webhook

    organization = factory.SubFactory(OrganizationFactory)
    created_by = factory.SubFactory(UserFactory)
    url = "https://receiver.example.org/hook"
    events = factory.LazyFunction(lambda: ["grader.status_changed"])
    secret = WEBHOOK_SECRET


class DeliveryFactory(DjangoModelFactory):
    """An event on its way to a webhook."""

    class Meta:
        model = Delivery

    webhook = factory.SubFactory(WebhookFactory)
    event = factory.LazyAttribute(
        lambda delivery: Event.objects.create(
            organization=delivery.webhook.organization, kind="grader.status_changed", data={"graderId": "grader_x"}
        )
    )


def public(kind, instance):
    """The public id of a row."""
    return ids.encode(kind, instance.pk)
