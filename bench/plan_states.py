"""The tables in the states of plans.py: a history of finished work, and work that waits. Written by SQL, past the API."""

import time

BEGUN_MS = (int(time.time()) - 90 * 86_400) * 1000  # when the history begins
CHAIN = "00000000-0000-4000-8000-000000000001"  # of the history's audit events
ANSWERS = (
    20  # one in so many completions was submitted with an Idempotency-Key, had a callback, an audit event, a review
)


def id_of(kind, number):
    """SQL of a UUIDv7 whose time grows with the number: as ids are in service, so an index is met where it is warm."""
    ms = f"{BEGUN_MS} + ({number})::bigint * 10"
    return f"(lpad(to_hex({ms}), 12, '0') || '7{kind}00' || '8' || lpad(to_hex({number}), 15, '0'))::uuid"


class Filler:
    """Adds rows of one organization's work. `number` of a completion makes all ids that belong to it."""

    def __init__(self, world):
        self.world, self.task, self.done = world, world.task, 0

    def insert(self, model, numbers, values, where="true"):
        """Rows of a model, one for each `n` of the numbers; a column that is not named gets the model's default."""
        from django.db import connection

        columns = {}
        for field in model._meta.concrete_fields:
            if field.primary_key and field.get_internal_type() == "BigAutoField":
                continue
            if field.column in values:
                columns[field.column] = values[field.column]
            elif field.null:
                columns[field.column] = "null"
            else:
                columns[field.column] = literal(field)
        with connection.cursor() as cursor:
            cursor.execute(
                f"insert into {model._meta.db_table} ({', '.join(columns)}) select {', '.join(columns.values())} "
                f"from generate_series({numbers.start}, {numbers.stop - 1}) n where {where}"
            )

    def finished(self, count):
        """Completions that were scored: a tenth by two graders, a hundredth failed, some after a review or a callback."""
        from django.db import connection

        from autotune.access.models import AuditEvent, StoredAnswer
        from autotune.webhooks.models import Delivery, Event
        from exports.models import Export
        from graders.models import GraderCheck, GraderStatistic
        from scores.models import Callback, CallbackItem, Review, Reward, Score

        numbers = self._completions(count)
        state, panel = (
            "case when n % 100 = 99 then 'failed' else 'completed' end",
            "case when n % 10 = 0 then 2 else 1 end",
        )
        ended = {"status": state, "attempt": "1", "completed_at": self._at(), "started_at": self._at()}
        failed = {**ended, "error_code": "case when n % 100 = 99 then 'timeout' else '' end"}
        self._runs(numbers, "a", self.world.grader, {**failed, "panel_size": panel})
        self._runs(numbers, "b", self.world.other, {**ended, "panel_size": "2", "status": "'completed'"}, "n % 10 = 0")
        for kind, grader, where in (("a", self.world.grader, "n % 100 <> 99"), ("b", self.world.other, "n % 10 = 0")):
            self.insert(
                Score,
                numbers,
                {
                    **self._places(), "id": id_of("d" if kind == "a" else "e", "n"), "run_id": id_of(kind, "n"),
                    "completion_id": id_of("c", "n"), "grader_id": quoted(grader.pk),
                    "grader_version_id": quoted(grader.version_id), "value": "(n % 101) / 100.0", "confidence": "0.9",
                    "raw_value": "(n % 101) / 100.0", "created_at": self._at(),
                },
                where,
            )  # fmt: skip
        failed = "n % 100 = 99 and n % 10 <> 0"
        self.insert(
            Reward,
            numbers,
            {
                **self._places(), "completion_id": id_of("c", "n"), "aggregation": "'mean'", "scored_at": self._at(),
                "value": f"case when {failed} then null else (n % 101) / 100.0 end", "confidence": "0.9",
                "used": "1", "failed": "0", "error_code": f"case when {failed} then 'timeout' else '' end",
            },
        )  # fmt: skip
        place = {"organization_id": quoted(self.world.organization.pk), "created_at": self._at()}
        if self.world.webhook.pk:  # the drains have none
            event = {**place, "id": id_of("f", "n"), "kind": "'score.completed'", "subject_id": id_of("c", "n")}
            self.insert(Event, numbers, {**event, "fanned_out_at": self._at()})
            self.insert(
                Delivery,
                numbers,
                {
                    "id": id_of("1", "n"), "webhook_id": quoted(self.world.webhook.pk), "event_id": id_of("f", "n"),
                    "status": "'delivered'", "attempt": "1", "ended_at": self._at(), "next_at": self._at(),
                    "queued_at": self._at(), "created_at": self._at(),
                },
            )  # fmt: skip
        some = f"n % {ANSWERS} = 0"
        grader = {"grader_id": quoted(self.world.other.pk), "grader_version_id": quoted(self.world.other.version_id)}
        self.insert(
            Review,
            numbers,
            {
                **self._places(), **grader, "id": id_of("2", "n"), "run_id": id_of("b", "n"),
                "completion_id": id_of("c", "n"), "status": "'approved'", "value": "0.5", "confidence": "0.1",
                "expires_at": self._at(), "created_at": self._at(),
            },
            some,
        )  # fmt: skip
        self.insert(
            Callback,
            numbers,
            {
                **grader, "id": id_of("3", "n"), "token_digest": "sha256(n::text::bytea)", "request_id": "n::text",
                "signature": "'0'", "kind": "'score'", "include_dimensions": "true", "include_explanation": "true",
                "created_at": self._at(), "expires_at": self._at(),
            },
            some,
        )  # fmt: skip
        item = {"callback_id": id_of("3", "n"), "run_id": id_of("b", "n"), "attempt": "1"}
        self.insert(CallbackItem, numbers, {**item, "body_digest": "sha256(n::text::bytea)"}, some)
        answer = {**place, "id": id_of("4", "n"), "route": "'POST /api/v1/completions'", "status": "202"}
        answer |= {"key_digest": "sha256(n::text::bytea)", "request_digest": "sha256(n::text::bytea)"}
        self.insert(
            StoredAnswer,
            numbers,
            {**answer, "subject": id_of("c", "n"), "expires_at": "now() + interval '1 day'"},
            some,
        )
        audit = {"id": id_of("5", "n"), "chain": quoted(CHAIN), "actor": "'a@example.org'"}
        audit |= {
            "action": "'completions.create'",
            "resource": "'completions'",
            "outcome": "'succeeded'",
            "at": self._at(),
        }
        self.insert(AuditEvent, numbers, {**audit, "mac": "sha256(n::text::bytea)"}, some)
        with connection.cursor() as cursor:  # sealed, which only an update may do
            cursor.execute(
                "update access_auditevent set number = ('x' || right(id::text, 8))::bit(32)::bigint + 1, digest = mac "
                "where chain = %s and number is null",
                [CHAIN],
            )
        export = {**place, "id": id_of("6", "n"), "created_by_id": quoted(self.world.user.pk), "query": "'{}'"}
        self.insert(Export, numbers, {**export, "status": "'expired'"}, f"n % {ANSWERS * 5} = 0")
        check = {
            "uid": id_of("7", "n"),
            "grader_id": quoted(self.world.grader.pk),
            "name": "'health'",
            "passed": "true",
        }
        self.insert(GraderCheck, numbers, {**check, "at": self._at()}, f"n % {ANSWERS * 5} = 0")
        hour = {"grader_id": quoted(self.world.grader.pk), "start": "now() - interval '5 minutes' * (n + 1)"}
        self.insert(
            GraderStatistic,
            numbers,
            {**hour, "version_id": quoted(self.world.grader.version_id)},
            f"n % {ANSWERS * 5} = 0",
        )

    def pending(self, count):
        """Completions that wait for a grader, behind those with a higher priority."""
        numbers = self._completions(count)
        self._runs(numbers, "a", self.world.grader, {"panel_size": "1", "status": "'pending'"})

    def newer(self, count):
        """Completions of a task that had none when the statistics were taken."""
        self.task = self.world.newer
        self.finished(count)
        self.task = self.world.task

    def analyze(self):
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("analyze")

    def _completions(self, count):
        from tasks.models import Completion

        numbers = range(self.done, self.done + count)
        self.done += count
        self.insert(
            Completion,
            numbers,
            {
                **self._places(), "id": id_of("c", "n"), "task_version_id": quoted(self.task.version_id),
                "created_by_id": quoted(self.world.user.pk), "model_id": "'model-' || n % 3", "external_id": "'old-' || n",
                "content_digest": "sha256(n::text::bytea)", "prompt_digest": "substr(sha256((n / 8)::text::bytea), 1, 16)",
                "answer_digest": "substr(sha256(n::text::bytea), 1, 16)", "prompt": "sha256(n::text::bytea)",
                "response": "sha256(n::text::bytea)", "priority": "0", "source": "'api'", "created_at": self._at(),
            },
        )  # fmt: skip
        return numbers

    def _runs(self, numbers, kind, grader, values, where="true"):
        from scores.models import WorkflowRun

        whole = {
            **self._places(), "id": id_of(kind, "n"), "completion_id": id_of("c", "n"), "grader_id": quoted(grader.pk),
            "priority": "0", "deadline_at": "now() + interval '1 day'", "created_at": self._at(), **values,
        }  # fmt: skip
        self.insert(WorkflowRun, numbers, whole, where)

    def _places(self):
        return {"organization_id": quoted(self.world.organization.pk), "task_id": quoted(self.task.pk)}

    def _at(self):
        return f"to_timestamp({BEGUN_MS // 1000}) + interval '10 ms' * n"


def quoted(key):
    return f"'{key}'::uuid"


def literal(field):
    """SQL of a column's default."""
    value = field.get_default()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | dict):
        return "'[]'::jsonb" if isinstance(value, list) else "'{}'::jsonb"
    if isinstance(value, bytes):
        return "''::bytea"
    if value is None:
        raise ValueError(f"{field} has no default: name a value for it")
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"'{value.isoformat() if hasattr(value, 'isoformat') else value}'"


class World:
    """The organization whose work is scored: its graders at a stub, its task, a webhook."""

    def __init__(self, grader_url):
        from autotune.access.models import Membership, Role
        from autotune.webhooks.models import Webhook
        from tests.factories import (
            WEBHOOK_SECRET,
            ApiKeyFactory,
            GraderFactory,
            OrganizationFactory,
            TaskFactory,
            UserFactory,
        )

        self.organization, self.user = OrganizationFactory(), UserFactory()
        role = Role.objects.get(organization=None, name="organization_admin")
        Membership.objects.create(organization=self.organization, user=self.user, role=role)
        self.key = ApiKeyFactory(organization=self.organization, user=self.user)
        common = {"organization": self.organization, "created_by": self.user, "endpoint": grader_url}
        self.grader = GraderFactory(**common, max_batch_size=100, max_concurrency=8)
        self.other = GraderFactory(**common, max_batch_size=100)
        self.single = GraderFactory(**common, max_batch_size=1)
        self.later = GraderFactory(**common, max_batch_size=50, supports_async=True)
        self.gone = GraderFactory(**common)
        owned = {"organization": self.organization, "created_by": self.user}
        self.task = TaskFactory(**owned, graders=[self.grader])
        self.newer = TaskFactory(**owned, graders=[self.grader])
        self.panel = TaskFactory(**owned, graders=[self.grader, self.other])
        self.slow = TaskFactory(**owned, graders=[self.later])
        self.calls = TaskFactory(**owned, graders=[self.single])
        self.doomed = TaskFactory(**owned, graders=[self.gone])
        self.reviewed = TaskFactory(**owned, graders=[self.other], review_below_confidence=0.95)
        self.webhook = Webhook.objects.create(
            **owned,
            url=grader_url,
            events=["score.completed", "score.failed", "review.requested"],
            secret=WEBHOOK_SECRET,
        )
        self.filler = Filler(self)
        self.number = 0

    @property
    def principal(self):
        from autotune.access.principal import Principal

        return Principal(self.key.organization, self.key.role, self.key.user, self.key)

    def submit(self, task, count, **members):
        """Completions of the task through the intake, before all that waits; their ids."""
        from scores.intake import submission
        from scores.intake.requests import NewCompletion, TaskId

        items = {}
        for index in range(count):
            self.number += 1
            items[index] = NewCompletion(
                task_id=TaskId(task.pk),
                model_id="model-1",
                prompt=f"What is {self.number} + 2?",
                response=str(self.number + 2),
                external_id=f"new-{self.number}",
                **members,
            )
        return [
            completion.completion_id for completion in submission.submit(self.principal, items, priority="high").stored
        ]
