"""What the walk over all routes needs: the routes, an object of each kind for three owners, and a right body."""

import re
from dataclasses import dataclass, field

from django.db import transaction
from django.urls import URLPattern, get_resolver

from autotune.access.models import AuditEvent, Membership, Role
from autotune.core import ids
from tests.conftest import Api
from tests.factories import (
    ApiKeyFactory,
    CompletionFactory,
    DeliveryFactory,
    ErasureFactory,
    ExportFactory,
    GraderFactory,
    LegalHoldFactory,
    ReviewFactory,
    RewardEndpointFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    public,
)  # fmt: skip

PREFIX = "api/v1/"
METHODS = ("get", "post", "put", "patch", "delete")
NOWHERE = "https://127.0.0.1:9"  # refused before a socket is opened


def routes():
    """(method, path with `:kind` for ids, view's operation) of each operation below `/api/v1/`."""
    operations = []
    for pattern, prefix in _patterns(get_resolver().url_patterns, ""):
        path = prefix + str(pattern.pattern)
        view = getattr(pattern.callback, "view_class", None)
        if not path.startswith(PREFIX) or view is None:
            continue
        shown = "/" + re.sub(r"<(\w+):\w+>", r":\1", path.removeprefix(PREFIX))
        for method in METHODS:
            operation = getattr(getattr(view, method, None), "operation", None)
            if operation is not None:
                operations.append((method.upper(), shown, operation))
    return operations


def _patterns(patterns, prefix):
    for entry in patterns:
        if isinstance(entry, URLPattern):
            yield entry, prefix
        else:
            yield from _patterns(entry.url_patterns, prefix + str(entry.pattern))


@dataclass
class Owned:
    """What one person made in one organization: an object of each kind, by the kind of its id."""

    api: Api
    ids: dict[str, str] = field(default_factory=dict)


def owned(organization, role):
    """A person of the organization with this role, and one object of each kind that is theirs."""
    key = ApiKeyFactory(organization=organization, role=role)
    by = {"organization": organization, "created_by": key.user}
    grader = GraderFactory(**by, endpoint=NOWHERE)
    task = TaskFactory(**by, graders=[grader])
    completion = CompletionFactory(task=task, created_by=key.user)
    score = ScoreFactory(run__completion=completion, run__grader=grader)
    failed = RunFactory(completion=CompletionFactory(task=task), status="failed", error_code="timeout")
    reviewed = CompletionFactory(task=task, created_by=ApiKeyFactory(organization=organization, role=role).user)
    delivery = DeliveryFactory(webhook__organization=organization, webhook__created_by=key.user, webhook__url=NOWHERE)
    event = AuditEvent(chain=organization.pk, organization=organization, user=key.user, outcome="succeeded", mac=b"")
    event.actor, event.action, event.resource, event.at = key.user.email, "read", "tasks", key.created_at
    event.save()
    spare = ApiKeyFactory(organization=organization, role=key.role, user=key.user, name="spare")
    own_role = Role.objects.create(organization=organization, name=f"role {key.last_four} {key.pk}", permissions=[])
    member = Membership.objects.get(organization=organization, user=key.user)
    return Owned(
        Api(key.text),
        {
            "org": public("org", organization),
            "member": member.public_id,
            "role": public("role", own_role),
            "key": public("key", spare),
            "grader": public("grader", grader),
            "task": public("task", task),
            "taskv": public("taskv", task.version),
            "comp": public("comp", completion),
            "score": public("score", score),
            "run": public("run", failed),
            "rev": public("rev", ReviewFactory(run__completion=reviewed)),
            "whk": public("whk", delivery.webhook),
            "dlv": public("dlv", delivery),
            "aud": ids.encode("aud", event.pk),
            "ers": public("ers", ErasureFactory(**by)),
            "exp": public("exp", ExportFactory(**by)),
            "rwd": public("rwd", RewardEndpointFactory(task=task, created_by=key.user)),
            "hold": public("hold", LegalHoldFactory(**by, model_id="another model")),
        },
    )


BODIES = {
    "PATCH /organizations/:org": {"retention": {"textDays": 90}},
    "PATCH /members/:member": {"role": "reviewer"},
    "PATCH /roles/:role": {"description": "d"},
    "PATCH /api-keys/:key": {"name": "n"},
    "PATCH /graders/:grader": {"description": "d"},
    "PATCH /tasks/:task": {"description": "d"},
    "PATCH /webhooks/:whk": {"description": "d"},
    "PATCH /reward-endpoints/:rwd": {"enabled": True},
    "POST /reviews/:rev/decision": {"approved": True},
}


def outcome(api, method, path, body):
    """The answer, with everything that it did undone: `-` refused, `0` not found, `!` not let in, else `+`."""
    with transaction.atomic():
        answer = api.call(method, path, body)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        transaction.set_rollback(True)
    return {401: "!", 403: "-", 404: "0"}.get(answer.status_code, "+"), content.decode()


def cell(method, route, me, same, other):
    """For a route of one object: what happens with one's own, a colleague's and another organization's.

    For a list: which of them are in it, `.` where not. For anything else: what happens.
    """
    kinds = re.findall(r":(\w+)", route)
    if not kinds:
        done, content = outcome(me.api, method, route, BODIES.get(f"{method} {route}"))
        listed = LISTS.get(route)
        if method != "GET" or listed is None or done != "+":
            return done
        return "".join("+" if owner.ids[listed] in content else "." for owner in (me, same, other))
    outcomes = ""
    for whose in (me, same, other):
        path = re.sub(r":(\w+)", lambda match: whose.ids[match[1]], route)  # noqa: B023 - used at once
        outcomes += outcome(me.api, method, path, BODIES.get(f"{method} {route}"))[0]
    return outcomes


LISTS = {
    "/organizations": "org", "/members": "member", "/roles": "role", "/api-keys": "key", "/graders": "grader",
    "/tasks": "task", "/completions": "comp", "/scores": "score", "/workflow-runs": "run", "/reviews": "rev",
    "/webhooks": "whk", "/audit-events": "aud", "/erasures": "ers", "/legal-holds": "hold", "/exports": "exp", "/scores/export": "comp",
    "/audit-events/export": "aud", "/reward-endpoints": "rwd",
}  # fmt: skip
