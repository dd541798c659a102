"""What can be asked of the trail."""

from typing import Annotated, Literal

from msgspec import Meta

from autotune.core.api.operations import QueryStruct
from autotune.core.api.pagination import PageQuery

OutcomeName = Literal["open", "succeeded", "refused", "failed", "interrupted"]
Text = Annotated[str, Meta(max_length=254)]


class EventFilter(QueryStruct):
    """`actor`: a `user_` or `key_` id, or the actor as it is shown."""

    actor: Text | None = None
    action: Text | None = None
    resource: Text | None = None
    outcome: OutcomeName | None = None
    start_date: str | None = None
    end_date: str | None = None


class EventQuery(PageQuery):
    """The same members as EventFilter: two structs with members cannot be joined."""

    actor: Text | None = None
    action: Text | None = None
    resource: Text | None = None
    outcome: OutcomeName | None = None
    start_date: str | None = None
    end_date: str | None = None


class EventExportQuery(EventFilter):
    format: Literal["jsonl", "csv"] = "jsonl"
