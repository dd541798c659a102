"""Names and addresses of the objects of audit events, for those that the reader may open."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.urls import NoReverseMatch, reverse

from autotune.access.principal import Principal
from autotune.core import ids

PAGES: Final = {
    "task": ("task", "task_id"), "comp": ("completion", "completion_id"), "score": ("score", "score_id"),
    "run": ("workflow_run", "run_id"), "grader": ("grader", "grader_id"), "rev": ("review", "review_id"),
    "exp": ("export", "export_id"), "whk": ("webhook", "webhook_id"), "key": ("api_key", "key_id"),
    "role": ("role", "role_id"), "member": ("member", "member_id"), "rwd": ("reward_endpoint", "endpoint_id"),
}  # fmt: skip
Rows = Callable[[Principal], Any]
_sources: dict[str, tuple[Rows, str, str]] = {}


@dataclass(frozen=True, slots=True)
class ObjectLink:
    """An object as a page shows it.

    name  '' if it has none that the reader may see
    page  '' if the reader cannot open it
    """

    name: str
    page: str


def register(kind: str, rows: Rows, *, id_column: str = "pk", name_column: str = "name") -> None:
    """Let the audit log name objects of a kind.

    rows  returns the objects that a principal may open; deleted ones are not among them
    """
    _sources[kind] = (rows, id_column, name_column)


def links(principal: Principal, object_ids: Iterable[str]) -> dict[str, ObjectLink]:
    """Return a link for each object id, with one query for each kind that has names."""
    by_kind: dict[str, dict[UUID, str]] = {}
    object_links = {}
    for object_id in set(object_ids) - {""}:
        kind = object_id.rpartition("_")[0]
        object_links[object_id] = ObjectLink("", page_of(object_id) if kind not in _sources else "")
        if kind in _sources and (uid := _decoded(kind, object_id)):
            by_kind.setdefault(kind, {})[uid] = object_id
    for kind, uids in by_kind.items():
        rows, id_column, name_column = _sources[kind]
        named_rows = rows(principal).filter(**{f"{id_column}__in": list(uids)})
        for uid, name in named_rows.values_list(id_column, name_column):
            object_id = uids[uid]
            object_links[object_id] = ObjectLink(str(name or ""), page_of(object_id))
    return object_links


def page_of(object_id: str) -> str:
    """Return the address of an object's page; '' if it has none."""
    kind = object_id.rpartition("_")[0]
    if kind not in PAGES:
        return ""
    name, parameter = PAGES[kind]
    try:
        return reverse(name, kwargs={parameter: ids.decode(kind, object_id)})
    except (NoReverseMatch, ValueError):
        return ""


def _decoded(kind: str, object_id: str) -> UUID | None:
    try:
        return ids.decode(kind, object_id)
    except ValueError:
        return None
