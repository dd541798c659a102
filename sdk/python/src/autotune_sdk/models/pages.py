"""One page of a list of the API, which continues through the pages after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list: `items`. Iteration continues through the following pages, with one request each.

    total                 rows of all pages; None if the page was requested by cursor
    total_is_lower_bound  the list has at least `total` rows: the server counts up to 10,000
    """

    items: tuple[T, ...]
    limit: int | None
    offset: int | None
    total: int | None
    next_cursor: str | None
    following: Callable[[Page[T]], Page[T] | None] | None = field(default=None, repr=False, compare=False)
    total_is_lower_bound: bool = False

    def __iter__(self) -> Iterator[T]:
        page: Page[T] | None = self
        while page is not None:
            yield from page.items
            page = page.next_page()

    def next_page(self) -> Page[T] | None:
        """Request the page after this one; return None after the last."""
        return self.following(self) if self.following is not None else None

    def __len__(self) -> int:
        return len(self.items)
