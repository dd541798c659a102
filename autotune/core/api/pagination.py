"""Pagination of API lists: by offset, with a total, or by a signed cursor. Each list has documented sort fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from django.core import signing
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Length
from msgspec import Meta, field

from autotune.core.api.operations import ApiStruct, QueryStruct
from autotune.core.errors import Invalid

MAX_OFFSET = 100_000
COUNTED: Final = 10_000  # a list counts only so many rows: counting millions takes seconds
MAX_PAGE_BYTES = 32 * 2**20


class Pagination(ApiStruct):
    """`total` is exact with `page`, and up to 10,000; 10,001 with `totalIsLowerBound` means more than 10,000. It is
    null with a cursor. `nextCursor` is null on the last page.
    """

    limit: int
    offset: int
    total: int | None
    next_cursor: str | None
    total_is_lower_bound: bool = False


class PageQuery(QueryStruct):
    """Parameters of every list."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    offset: Annotated[int, Meta(ge=0)] = 0
    cursor: str | None = None
    sort: str | None = None
    page_number: Annotated[int, Meta(ge=1)] | None = field(default=None, name="page")


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The sort fields of a list, and its default order.

    name     of the list; part of a cursor's signature
    fields   wire name -> model field, none of them nullable
    default  such as `-createdAt`
    """

    name: str
    fields: Mapping[str, str]
    default: str = "-createdAt"


def page(
    queryset: QuerySet,
    query: PageQuery,
    order: SortOrder,
    *,
    owner: object,
    texts: Sequence[str] = (),
    counted: bool = True,
) -> tuple[list[Any], Pagination]:
    """Return one page of `queryset`, with its pagination.

    owner   the organization's id: a cursor of another organization is refused
    texts   columns that may be long: the page ends before they hold more bytes than a response should; its `limit`
            says how many rows it took
    counted whether a page without a cursor has the total
    raises  Invalid for a bad sort, page, offset or cursor
    """
    offset = _offset(query)
    sort, keys = _sort_keys(order.default if query.sort is None else query.sort, order)
    salt = f"cursor.{order.name}.{owner}"
    ordered = queryset.order_by(*keys)
    if query.cursor is None:
        total = _total(queryset, query) if counted else None
    else:
        total = None
        ordered = ordered.filter(_after(query.cursor, sort, keys, salt))
    limit = _bearable(ordered, offset, query.limit, texts) if texts else query.limit
    rows = list(ordered[offset : offset + limit + 1])
    more = len(rows) > limit
    rows = rows[:limit]
    following = _cursor(rows[-1], sort, keys, salt) if more else None
    is_lower_bound = total is not None and total > COUNTED and query.page_number is None
    return rows, Pagination(limit, offset, total, following, is_lower_bound)


def _offset(query: PageQuery) -> int:
    """Return how many rows precede the page.

    raises  Invalid if the page is too far, or the query names it in two ways
    """
    if query.page_number is None:
        if query.cursor is not None and query.offset:
            raise Invalid.field("?offset", "invalid_choice", "give either an offset or a cursor.")
        if query.offset > MAX_OFFSET:
            raise Invalid.field("?offset", "out_of_range", f"at most {MAX_OFFSET}; page with the cursor instead.")
        return query.offset
    if query.cursor is not None or query.offset:
        raise Invalid.field("?page", "invalid_choice", "give only one of page, offset and cursor.")
    if query.page_number * query.limit > MAX_OFFSET:
        detail = f"page × limit may be at most {MAX_OFFSET}; page with the cursor instead."
        raise Invalid.field("?page", "out_of_range", detail)
    return (query.page_number - 1) * query.limit


def _total(queryset: QuerySet, query: PageQuery) -> int:
    """Count the rows: all of them for a page by number, otherwise at most one more than COUNTED."""
    rows = queryset.order_by()
    if query.page_number is not None:
        return rows.count()
    if not (rows.query.distinct or rows.query.group_by or rows.query.combinator):
        rows = rows.values("pk")
    return rows[: COUNTED + 1].count()


def _bearable(ordered: QuerySet, offset: int, limit: int, texts: Sequence[str]) -> int:
    """Return how many of the page's rows fit into a response: at least one, and usually `limit`."""
    sizes = ordered.values_list(_text_bytes(texts), flat=True)[offset : offset + limit]
    total = 0
    for taken, size in enumerate(sizes):
        total += size
        if total > MAX_PAGE_BYTES:
            return max(taken, 1)
    return limit


def _text_bytes(texts: Sequence[str]) -> Any:
    sizes = [Coalesce(Length(name), 0) for name in texts]
    return sum(sizes[1:], sizes[0])


def require_modest(rows: QuerySet, texts: Sequence[str]) -> None:
    """Raise Invalid `page_too_large` if the rows hold more bytes of text than a response should. Reads no text."""
    total = rows.aggregate(byte_count=Sum(_text_bytes(texts)))
    if (total["byte_count"] or 0) > MAX_PAGE_BYTES:
        detail = f"these rows hold more than {MAX_PAGE_BYTES // 2**20} MiB of text; ask for fewer at a time."
        raise Invalid.field("?limit", "page_too_large", detail)


def _sort_keys(text: str, order: SortOrder) -> tuple[str, list[str]]:
    keys: list[str] = []
    named = set()
    for part in text.split(","):
        name = part.removeprefix("-")
        if name not in order.fields:
            raise Invalid.field("?sort", "invalid_choice", f"sort by {', '.join(order.fields)}; `-` for descending.")
        if name in named:  # else the condition of a cursor would grow with the square of what was sent
            raise Invalid.field("?sort", "invalid_choice", f"name {name} once.")
        named.add(name)
        keys.append(("-" if part.startswith("-") else "") + order.fields[name])
    if keys[-1].lstrip("-") != "id":
        keys.append("-id" if keys[-1].startswith("-") else "id")
    return text, keys


def _cursor(row: Any, sort: str, keys: Sequence[str], salt: str) -> str:
    values = [_plain(getattr(row, key.lstrip("-"))) for key in keys]
    return signing.dumps([sort, values], salt=salt)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _after(cursor: str, sort: str, keys: Sequence[str], salt: str) -> Q:
    """Return the condition for rows after the cursor: (a, b, c) after (x, y, z), written column by column."""
    try:
        made_for, values = signing.loads(cursor, salt=salt)
    except signing.BadSignature:
        raise Invalid.field(
            "?cursor", "invalid_cursor", "it was altered, or belongs to another list. Start without a cursor."
        ) from None
    if made_for != sort:
        raise Invalid.field("?cursor", "invalid_cursor", f"it belongs to sort={made_for}; send the same sort with it.")
    condition, equal = Q(), Q()
    for key, value in zip(keys, values, strict=True):
        name = key.lstrip("-")
        side = "lt" if key.startswith("-") else "gt"
        condition |= equal & Q(**{f"{name}__{side}": value})
        equal &= Q(**{name: value})
    return condition
