"""The query parameters of the audit log."""

from typing import Annotated, Literal

from msgspec import Meta

from autotune.core.api.operations import QueryStruct
from autotune.core.api.pagination import PageQuery

OutcomeName = Literal["open", "succeeded", "refused", "failed", "interrupted"]
KindName = Literal["changes", "views", "all"]
Text = Annotated[str, Meta(max_length=254)]


class AuditEventFilter(QueryStruct):
    """`actor`: a `user_` or `key_` id, or the actor as events show it; `person`: part of that, or of a person's name.
    `kind`: `changes`, `views`, or `all`, which is the default."""

    actor: Text | None = None
    person: Text | None = None
    action: Text | None = None
    resource: Text | None = None
    object_id: Text | None = None
    kind: KindName | None = None
    outcome: OutcomeName | None = None
    start_date: str | None = None
    end_date: str | None = None


class AuditEventQuery(PageQuery):
    """Filters and paging. It repeats the members of AuditEventFilter, since msgspec cannot join two structs."""

    actor: Text | None = None
    person: Text | None = None
    action: Text | None = None
    resource: Text | None = None
    object_id: Text | None = None
    kind: KindName | None = None
    outcome: OutcomeName | None = None
    start_date: str | None = None
    end_date: str | None = None


class AuditExportQuery(AuditEventFilter):
    format: Literal["jsonl", "csv"] = "jsonl"
