"""What a person may do to one task, for the buttons of its pages. The operations check permissions again."""

from typing import Final
from uuid import UUID

from django.db.models import Exists

from autotune.access.principal import Principal
from graders.models import Grader
from tasks.models import Task

ACTIONS: Final = ("update", "delete")


def of(principal: Principal, task: Task) -> dict[str, bool]:
    """Return {action: whether it is allowed}, with one query."""
    allowed = [Exists(Task.objects.allowed(principal, action).filter(pk=task.pk)) for action in ACTIONS]
    permissions = Task.objects.filter(pk=task.pk).values_list(*allowed).first()
    return dict(zip(ACTIONS, permissions or (False,) * len(ACTIONS), strict=True))


def readable_graders(principal: Principal, graders: list[UUID]) -> dict[UUID, Grader]:
    """Return the graders that the principal may see, by id. Pages show only the id of the others."""
    visible = Grader.objects.live().visible_to(principal).filter(pk__in=graders)
    return {grader.pk: grader for grader in visible.only("id", "name", "status", "organization_id", "visibility")}
