"""The first steps for members of a new organization, as far as their role permits."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Exists, Model, QuerySet

from autotune.access import policy
from autotune.access.models import Organization
from autotune.access.principal import Principal
from autotune.access.querysets import api_keys
from autotune.core import ids
from autotune.site.overviews import links
from autotune.site.overviews.grader_states import GraderState
from exports.models import Export
from scores.models import Score
from tasks.models import Completion, Task


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One step of the list. `command` does it in a shell; `url` is the page on which to do it by hand."""

    title: str
    text: str
    done: bool
    url: str = ""
    action: str = ""
    command: str = ""


def of(principal: Principal, graders: Sequence[GraderState]) -> list[SetupStep]:
    """Return the steps in order; none once all of them are done, or for a role that may do none."""
    may = {
        "grader": _may(principal, "endpoint_graders", "create"),
        "task": _may(principal, "tasks", "create"),
        "key": _may(principal, "keys", "create") and _may(principal, "completions", "create"),
        "completion": _may(principal, "completions", "create"),
        "export": _may(principal, "exports", "create"),
    }
    if not any(may.values()):
        return []
    has_any = _there(principal)
    steps = [
        *(_of_graders(principal, graders, has_any["score"]) if may["grader"] else ()),
        *([_task(has_any["task"])] if may["task"] else ()),
        *([_key(has_any["key"])] if may["key"] else ()),
        *([_submit(principal, has_any["completion"])] if may["completion"] else ()),
        *([_export(has_any["export"])] if may["export"] else ()),
    ]
    return [] if all(step.done for step in steps) else steps


def _may(principal: Principal, resource: str, action: str) -> bool:
    return policy.reach(principal, resource, action) is not None


def _there(principal: Principal) -> dict[str, bool]:
    """Return what the organization already has, as far as the principal may see it, by one query."""
    own: dict[str, QuerySet[Model]] = {
        "task": Task.objects.visible_to(principal),
        "key": api_keys().visible_to(principal).filter(revoked_at=None),
        "completion": Completion.objects.visible_to(principal),
        "export": Export.objects.visible_to(principal),
        "score": Score.objects.for_readers().visible_to(principal),
    }
    exists = [Exists(_within(rows, principal)) for rows in own.values()]
    flags = Organization.objects.filter(pk=principal.organization.pk).values_list(*exists).get()
    return dict(zip(own, map(bool, flags), strict=True))


def _within(rows: QuerySet, principal: Principal) -> QuerySet:
    """Limit rows to the principal's organization, except for grader owners, whose graders score for others."""
    is_others = rows.model is Score and policy.reach(principal, "scores", "read") == "own"
    return rows if is_others else rows.filter(organization_id=principal.organization.pk)


def _of_graders(principal: Principal, graders: Sequence[GraderState], scored: bool) -> list[SetupStep]:
    verified = any(grader.verified for grader in graders)
    first = graders[0] if len(graders) == 1 else None
    url = links.to("grader", grader_id=first.pk) if first else links.to("graders")
    steps = [
        SetupStep(
            "Register a grader", "Enter the address of a service that judges completions. Its secret is shown once.",
            bool(graders), links.to("grader_new"), "Register a grader",
        ),
        SetupStep(
            "Verify it", "Autotune calls it as it will later, and each failed check says what to fix.",
            verified, url if graders else "", "Open the grader",
        ),
    ]  # fmt: skip
    if not _may(principal, "tasks", "create"):
        steps.append(
            SetupStep("Give the first score", "Calls begin when a trainer adds the grader to a task's panel.", scored)
        )
    return steps


def _task(done: bool) -> SetupStep:
    return SetupStep(
        "Create a task", "Define what a model is asked, and the panel of graders that judge its answers.", done,
        links.to("task_new"), "Create a task",
    )  # fmt: skip


def _key(done: bool) -> SetupStep:
    text = "Trainers use it to submit and read."
    return SetupStep("Create an API key", text, done, links.to("api_key_new"), "Create a key")


def _submit(principal: Principal, done: bool) -> SetupStep:
    task = None
    if not done:
        own = Task.objects.visible_to(principal).filter(organization=principal.organization, archived=False)
        task = own.order_by("-pk").values_list("pk", flat=True).first()
    task_id = ids.encode("task", task) if task else "task_…"
    command = (
        f"curl {settings.PUBLIC_URL}/api/v1/completions \\\n"
        '  -H "Authorization: Bearer $AUTOTUNE_API_KEY" -H "Content-Type: application/json" \\\n'
        f"""  -d '{{"taskId": "{task_id}", "modelId": "my-model", "prompt": "What is 2 + 2?", "response": "4"}}'"""
    )
    return SetupStep(
        "Submit completions", "One by one, or up to 10,000 in a batch.", done, command="" if done else command
    )


def _export(done: bool) -> SetupStep:
    return SetupStep(
        "Export the scores", "As JSONL, Parquet or preference pairs, for the next training run.", done,
        links.to("export_new"), "Make an export",
    )  # fmt: skip
