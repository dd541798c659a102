"""Find and create versions of a task: content-addressed snapshots of what defines it. Equal content is one version."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from autotune.access.models import User
from autotune.core import ecmajson
from autotune.core.crypto import encryption
from autotune.core.crypto.fields import is_damaged
from autotune.core.errors import Invalid
from tasks.models import PanelMember, Task, TaskVersion
from tasks.panels import PanelSeat
from tasks.states import TaskKind


def digest(organization_id: UUID, content: dict[str, Any], panel: Sequence[PanelSeat], aggregation: str) -> str:
    """Return the HMAC-SHA256, in hex, of the canonical JSON of the content that `GET /tasks/:id/versions` shows.

    The key is the organization's digest key, so that nobody can test guesses of a prompt against the digest.

    content  {systemPrompt, promptTemplate, responseSchema, model}; the panel adds `graders`, then `aggregation`
    """
    definition = {**content, "graders": [seat.wire() for seat in panel], "aggregation": str(aggregation)}
    key = encryption.digest_key(organization_id)
    return encryption.keyed_digest(key, b"task version", canonical(definition)).hex()


def canonical(value: Any) -> bytes:
    """Return canonical JSON (RFC 8785): sorted members, no spaces, UTF-8, numbers as ECMAScript prints them."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return b"{" + b",".join(ecmajson.string(name) + b":" + canonical(part) for name, part in members) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(canonical, value)) + b"]"
    return ecmajson.dumps(value)


def find_or_create(
    task: Task, content: dict[str, Any], panel: Sequence[PanelSeat], aggregation: str, maker: User
) -> TaskVersion:
    """Return the task's version with this content, or create it with `maker` as its creator.

    The caller must hold a lock on the task's row, so that no other request creates the version at the same time.

    raises  Invalid if there is no grader, and the task is not a deck
    """
    if not panel and task.kind != TaskKind.DECK:
        raise Invalid.field("/graders", "missing_field", "Give at least one grader.")
    content_digest = digest(task.organization_id, content, panel, aggregation)
    if version := TaskVersion.objects.filter(task=task, digest=content_digest).first():
        if is_damaged(version, "content"):  # the equal digest proves that the content is the same
            version.content = content
            version.save(update_fields=["content"])
        return version
    version = TaskVersion.objects.create(
        task=task,
        organization_id=task.organization_id,
        created_by=maker,
        digest=content_digest,
        content=content,
        aggregation=aggregation,
    )
    PanelMember.objects.bulk_create(
        PanelMember(
            task_version=version, grader_id=seat.grader_id, weight=seat.weight, part=seat.part, position=position
        )
        for position, seat in enumerate(panel)
    )
    return version
