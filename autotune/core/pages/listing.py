"""List pages, which read the API's query Structs from the address. A faulty filter is reported and ignored."""

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
PAGE_SIZES: Final = (PAGE_SIZE, 50, AT_MOST)
SPANS: Final = {"Today": 1, "7 days": 7, "30 days": 30}  # days in UTC, the present one among them


@dataclass(frozen=True, slots=True)
class ListRequest(Generic[Q]):
    """A request for a list page: its query, and what to show in the form of its filters.

    query        the valid parameters, as the API reads them
    form_values  {parameter: the text that the form sent}
    faults       {parameter: what is wrong with it}
    """

    query: Q
    form_values: dict[str, str]
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def filtered(self) -> bool:
        """Whether the request filters the list, beyond its page and order."""
        return any(
            value for name, value in self.form_values.items() if name not in {"limit", "offset", "cursor", "sort"}
        )


def read(request: HttpRequest, shape: type[Q], *, limit: int = PAGE_SIZE, **fixed: Any) -> ListRequest[Q]:
    """Read the query of a list page. Unknown and empty parameters are ignored.

    fixed  members that the page itself sets, by their wire names
    """
    filters = {
        name: value.strip()
        for name in shape.__struct_encode_fields__
        if name != "page"  # pages move by offset
        and (value := request.GET.get(name, "")).strip()
        and "\x00" not in value
    }
    lists = {name: [filters[name]] for name in parsing.repeatable(shape) if name in filters}  # the form has one
    parameters: dict[str, Any] = {"limit": str(limit), **filters, **lists, **fixed}
    if parameters["limit"].isdigit():
        parameters["limit"] = str(min(int(parameters["limit"][:9]), AT_MOST))
    faults: dict[str, str] = {}
    while True:
        try:
            return ListRequest(parsing.convert_query(parameters, shape), filters, faults)
        except Invalid as exc:
            error = exc.errors[0]
            name = error.pointer.lstrip("?")
            if name not in parameters or name in fixed:
                raise
            faults[name] = error.detail
            del parameters[name]
            if name == "limit":
                parameters[name] = str(limit)


@dataclass(frozen=True, slots=True)
class Pager:
    """The foot of a list: which rows are shown, and the offsets of the previous and next page (None at an end).

    beyond  whether there are more than `total`
    limit   the most rows of a page
    """

    first: int
    last: int
    total: int | None
    before: int | None
    behind: int | None
    beyond: bool = False
    limit: int = PAGE_SIZE

    @property
    def sizes(self) -> tuple[int, ...]:
        """The page sizes to choose from; none if the smallest holds every row."""
        return PAGE_SIZES if self.before is not None or self.behind is not None or self.last > PAGE_SIZE else ()


def pager(pagination: Pagination, shown: int) -> Pager:
    """Return the foot of an offset page with `shown` rows."""
    offset, limit = pagination.offset, pagination.limit
    return Pager(
        first=offset + 1 if shown else 0,
        last=offset + shown,
        total=COUNTED if pagination.total_is_lower_bound else pagination.total,
        before=max(0, offset - limit) if offset else None,
        behind=offset + shown if pagination.next_cursor else None,
        beyond=pagination.total_is_lower_bound,
        limit=limit,
    )


def counted(foot: Pager, rows: QuerySet) -> Pager:
    """Return the foot with the number of rows, counted up to COUNTED: an exact count of millions takes seconds."""
    if foot.behind is None:
        return replace(foot, total=foot.last) if foot.last else foot
    if foot.last > COUNTED:
        return foot
    total = rows.order_by()[: COUNTED + 1].count()
    return replace(foot, total=min(total, COUNTED), beyond=total > COUNTED)


@dataclass(frozen=True, slots=True)
class PeriodChoice:
    """A period that one click selects: from the day `start` (of UTC) until now; '' is any time."""

    name: str
    start: str
    chosen: bool


def spans(filters: dict[str, str]) -> list[PeriodChoice]:
    """Return the periods to choose from, for a list with `startDate` and `endDate`."""
    today = timezone.now().astimezone(UTC).date()
    starts = {"Any time": "", **{name: f"{today - timedelta(days=days - 1)}" for name, days in SPANS.items()}}
    start_date, has_end = filters.get("startDate", ""), "endDate" in filters
    return [PeriodChoice(name, start, start == start_date and not has_end) for name, start in starts.items()]
