"""Template tags of the administration's first page: its tables in named groups, and the figures to check first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django import template
from django.utils.text import capfirst

from autotune.core.admin import figures as admin_figures

register = template.Library()
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Organizations and people": (
        "access.Organization", "access.User", "access.Membership", "access.Role", "access.ApiKey",
    ),
    "Graders": (
        "graders.Grader", "graders.GraderCheck", "graders.GraderStatusChange", "graders.GraderVersion",
        "graders.GraderSecret", "graders.GraderStatistic", "graders.GraderHour", "graders.Tally", "graders.GraderGuard",
    ),
    "Tasks and completions": ("tasks.Task", "tasks.TaskVersion", "tasks.PanelMember", "tasks.Completion"),
    "Scoring": (
        "scores.WorkflowRun", "scores.Score", "scores.Reward", "scores.Review", "scores.Callback",
        "scores.CallbackItem", "scores.AttemptEvidence",
    ),
    "Live rewards": ("scores.RewardEndpoint", "scores.LiveAnswer"),
    "Exports": ("exports.Export", "exports.ExportFile"),
    "Webhooks": ("webhooks.Webhook", "webhooks.Delivery", "webhooks.Event"),
    "Retention": ("scores.Erasure", "scores.LegalHold"),
    "Audit and logins": (
        "access.AuditEvent", "access.AuditChain", "access.WebSession", "mfa.Authenticator",
        "socialaccount.SocialAccount", "axes.AccessAttempt",
    ),
    "Installation": (
        "scores.Pulse", "django_celery_beat.PeriodicTask", "django_celery_beat.IntervalSchedule",
        "django_celery_beat.CrontabSchedule",
        "core.DataKey", "core.MasterKey", "core.Reencryption", "core.DamagedValue",
        "access.Throttle", "access.StoredAnswer",
    ),
}  # fmt: skip
NAMES: Final[Mapping[str, str]] = {
    "access.User": "People", "access.AuditEvent": "Audit log", "access.AuditChain": "Audit log chains",
    "access.StoredAnswer": "Stored responses", "access.Throttle": "Throttled callers",
    "scores.Pulse": "Runs of periodic jobs", "django_celery_beat.PeriodicTask": "Periodic jobs",
    "scores.WorkflowRun": "Workflow runs", "scores.Callback": "Callbacks",
    "scores.CallbackItem": "Workflow runs of callbacks", "scores.AttemptEvidence": "Failed attempts",
    "scores.LiveAnswer": "Shared live results", "scores.RewardEndpoint": "Reward endpoints",
    "graders.GraderCheck": "Checks", "graders.GraderStatusChange": "Status changes",
    "graders.GraderVersion": "Versions", "graders.GraderSecret": "Secrets", "graders.GraderStatistic": "Statistics",
    "graders.GraderHour": "Hourly statistics",
    "graders.Tally": "Pending counters", "graders.GraderGuard": "Shared call state",
    "tasks.TaskVersion": "Versions", "tasks.PanelMember": "Panel members", "webhooks.Event": "Outbox",
    "exports.ExportFile": "Files", "core.DataKey": "Data keys", "core.Reencryption": "Re-encryption",
    "core.DamagedValue": "Damaged values", "core.MasterKey": "Master keys",
    "access.WebSession": "Sessions", "mfa.Authenticator": "Second factors",
    "socialaccount.SocialAccount": "Single sign-on links", "axes.AccessAttempt": "Failed logins",
}  # fmt: skip
AMBIGUOUS: Final = frozenset({"Versions", "Checks", "Secrets", "Statistics", "Files"})  # without the group around them
_PLACES: Final = {label: (title, at) for title, labels in GROUPS.items() for at, label in enumerate(labels)}


@dataclass(slots=True)
class TableGroup:
    """A group of related tables. Tables that no group names come last, in a group of their app."""

    title: str
    slug: str
    models: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    @property
    def tables(self) -> list[dict[str, Any]]:
        return [model for _, model in sorted(self.models, key=lambda entry: (entry[0], entry[1]["name"]))]


@register.simple_tag
def admin_groups(app_list: Iterable[Mapping[str, Any]]) -> list[TableGroup]:
    """Return the models that the person may see, in our groups and with our names; no group is empty."""
    groups: dict[str, TableGroup] = {}
    for app in app_list:
        for model in app["models"]:
            label = f"{app['app_label']}.{model['object_name']}"
            title, place = _PLACES.get(label, (str(app["name"]), len(_PLACES)))
            group = groups.setdefault(title, TableGroup(title, title.lower().replace(" ", "-")))
            group.models.append(
                (place, {**model, "name": NAMES.get(label, model["name"]), "slug": label.lower().replace(".", "-")})
            )
    order = [*GROUPS, *sorted(set(groups) - set(GROUPS))]
    return [groups[title] for title in order if title in groups]


@register.simple_tag
def admin_title(opts: Any) -> str:
    """Return the name of a table as the first page calls it, with its group's name if the name needs it."""
    title, _ = _PLACES.get(opts.label, ("", 0))
    name = NAMES.get(opts.label, capfirst(str(opts.verbose_name_plural)))
    return f"{title}: {name.lower()}" if name in AMBIGUOUS else name


@register.simple_tag(takes_context=True)
def figures(context: Any) -> list[admin_figures.FigureView]:
    """Return the figures that the person may see and should check first."""
    request = context.get("request")
    return admin_figures.shown_to(request.user) if request is not None else []
