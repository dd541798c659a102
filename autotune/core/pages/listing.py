"""Lists on pages: the API's query Structs read from the address, with faults told and not fatal."""

from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from typing import Any, Final, Generic, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from autotune.core.api import parsing
from autotune.core.api.operations import QueryStruct
from autotune.core.api.pagination import COUNTED, Pagination
from autotune.core.errors import Invalid

Q = TypeVar("Q", bound=QueryStruct)
PAGE_SIZE = 25
AT_MOST = 100  # rows of a page, whose texts are all decrypted
SPANS: Final = {"Today": 1, "7 days": 7, "30 days": 30}  # days in UTC, the present one among them


@dataclass(frozen=True, slots=True)
class Asked(Generic[Q]):
    """What a list's address asks for.

    query   what counts; filters that cannot be read are left out of it
    given   the filters as they were typed, for the form
    faults  {parameter: what is wrong with it}
    """

    query: Q
    given: dict[str, str]
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def filtered(self) -> bool:
        """Whether anything beside the page and the order was asked for."""
        return any(value for name, value in self.given.items() if name not in {"limit", "offset", "cursor", "sort"})


def read(request: HttpRequest, shape: type[Q], *, limit: int = PAGE_SIZE, **fixed: Any) -> Asked[Q]:
    """The query of a list's page. Unknown parameters and empty ones count for nothing.

    fixed  members that the page itself sets, by their wire names
    """
    given = {
        name: value.strip()
        for name in shape.__struct_encode_fields__
        if name != "page"  # pages move by offset
        and (value := request.GET.get(name, "")).strip()
        and "\x00" not in value
    }
    counted: dict[str, Any] = {"limit": str(limit), **given, **fixed}
    if counted["limit"].isdigit():
        counted["limit"] = str(min(int(counted["limit"][:9]), AT_MOST))
    faults: dict[str, str] = {}
    while True:
        try:
            return Asked(parsing.convert_query(counted, shape), given, faults)
        except Invalid as exc:
            error = exc.errors[0]
            name = error.pointer.lstrip("?")
            if name not in counted or name in fixed:
                raise
            faults[name] = error.detail
            del counted[name]


@dataclass(frozen=True, slots=True)
class Pager:
    """The foot of a list: which rows are shown, and the offsets before and behind (None at an end).

    beyond  whether there are more than `total`
    """

    first: int
    last: int
    total: int | None
    before: int | None
    behind: int | None
    beyond: bool = False


def pager(pagination: Pagination, shown: int) -> Pager:
    """The foot of an offset page with `shown` rows."""
    offset, limit = pagination.offset, pagination.limit
    return Pager(
        first=offset + 1 if shown else 0,
        last=offset + shown,
        total=COUNTED if pagination.total_is_lower_bound else pagination.total,
        before=max(0, offset - limit) if offset else None,
        behind=offset + shown if pagination.next_cursor else None,
        beyond=pagination.total_is_lower_bound,
    )


def counted(foot: Pager, rows: QuerySet) -> Pager:
    """The foot with how many rows there are, told up to COUNTED: the exact number of millions takes seconds."""
    if foot.behind is None:
        return replace(foot, total=foot.last) if foot.last else foot
    if foot.last > COUNTED:
        return foot
    total = rows.order_by()[: COUNTED + 1].count()
    return replace(foot, total=min(total, COUNTED), beyond=total > COUNTED)


@dataclass(frozen=True, slots=True)
class Span:
    """A time that one click asks for: from the day `start` (of UTC) until now; '' is any time."""

    name: str
    start: str
    chosen: bool


def spans(given: dict[str, str]) -> list[Span]:
    """Times to choose from, for a list with `startDate` and `endDate`."""
    today = timezone.now().astimezone(UTC).date()
    starts = {"Any time": "", **{name: f"{today - timedelta(days=days - 1)}" for name, days in SPANS.items()}}
    asked, ends = given.get("startDate", ""), "endDate" in given
    return [Span(name, start, start == asked and not ends) for name, start in starts.items()]
