"""Completions that a task shares with the owners of its graders (`shareText`): only prompts and responses.

While the task shares text, the owner of each grader in the panel of a completion's task version may read the
completion's prompt, messages and response.
"""

from django.db.models import Q

from autotune.access import policy
from autotune.access.principal import Principal
from graders.models import Grader
from tasks.models import Completion, PanelMember
from tasks.querysets import CompletionQuerySet

RESOURCE = "shared_completions"


def readable(principal: Principal) -> CompletionQuerySet:
    """Return the completions whose text the principal may read: its own, and those that are shared with its graders.

    Shared panels are looked up first. Usually there are none, and then the query can use the index on the organization.
    """
    own = Completion.objects.visible_to(principal)
    if policy.reach(principal, RESOURCE, "read") is None or policy.reach(principal, "completions", "read") == "all":
        return own
    graders = policy.scope(Grader.objects.live(), principal, RESOURCE, "read")
    panels = PanelMember.objects.filter(grader__in=graders.values("pk"), task_version__task__share_text=True)
    shared = set(panels.order_by().values_list("task_version__task_id", "task_version_id"))
    if not shared:
        return own
    tasks, versions = {task for task, _ in shared}, {version for _, version in shared}
    is_readable = Q(task_id__in=tasks, task_version_id__in=versions)
    match policy.reach(principal, "completions", "read"):
        case "organization":
            is_readable |= Q(organization=principal.organization)
        case "own":
            is_readable |= Q(organization=principal.organization, created_by=principal.user)
    return Completion.objects.filter(is_readable)


def is_only_shared(completion: Completion, principal: Principal) -> bool:
    """Whether the principal may read the completion's texts only, because a task shares them with its grader."""
    is_own = completion.organization_id == principal.organization.pk
    match policy.reach(principal, "completions", "read"):
        case "all":
            return False
        case "organization":
            return not is_own
        case "own":
            return not is_own or completion.created_by_id != principal.user.pk
    return True
