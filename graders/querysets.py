"""Querysets of graders and of the rows that belong to them."""

from typing import Any, Self

from django.db.models import BooleanField, Func, Q, Value

from autotune.access import policy
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal
from graders.states import Visibility


class GraderQuerySet(ScopedQuerySet):
    """Graders. For roles that may read listed graders, `visible_to` adds those of other organizations."""

    resource = "endpoint_graders"

    def live(self) -> Self:
        """Select the graders that are not deleted."""
        return self.filter(deleted_at=None)

    def visible_to(self, principal: Principal) -> Self:
        own = policy.scope(self, principal, self.resource, "read")
        if policy.reach(principal, "listed_graders", "read") is None or principal.is_test:
            return own
        return own | self.filter(visibility=Visibility.LISTED, deleted_at=None)

    def usable_by(self, principal: Principal) -> Self:
        """Select the graders that the principal may add to a panel: its organization's own and listed ones."""
        usable = Q(organization=principal.organization)
        if not principal.is_test:
            usable |= Q(visibility=Visibility.LISTED)
        return self.live().visible_to(principal).filter(usable)

    def with_details(self) -> Self:
        """Prefetch what an API response shows of graders, in one more query for any number of rows."""
        return self.prefetch_related("secrets")

    def search(self, text: str) -> Self:
        """Select the graders whose name or description contains the text."""
        return self.filter(Q(name__icontains=text) | Q(description__icontains=text))

    def in_domain(self, domain: str) -> Self:
        """Select the graders whose capabilities name exactly this domain."""
        return self.filter(_Names("domains", Value(domain)))

    def matching(self, *, search: str | None = None, domain: str | None = None, **equal: str | None) -> Self:
        """Select the graders that match a list's filters; a filter that is None matches all."""
        matches = self.filter(**{name: value for name, value in equal.items() if value is not None})
        if search is not None:
            matches = matches.search(search)
        return matches if domain is None else matches.in_domain(domain)


class _Names(Func):
    """A condition: a JSON list of strings contains a string."""

    template = "jsonb_exists(%(expressions)s)"
    output_field = BooleanField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        template = "EXISTS (SELECT 1 FROM json_each(%(expressions)s))"
        return self.as_sql(compiler, connection, template=template, arg_joiner=") WHERE (value = ", **more)


class GraderPartQuerySet(ScopedQuerySet):
    """Rows that belong to a grader: versions, checks, changes of status."""

    resource = "endpoint_graders"
    organization_path = "grader__organization_id"
    owner_path = "grader__created_by_id"

    def newest_of(self, grader: Any) -> Self:
        """Select a grader's rows, newest first; `grader` may be an OuterRef.

        The condition is a range, because for an equality PostgreSQL prefers to scan the primary key backwards through
        the rows of all graders until it has enough of this one's: the whole table for a grader that has few.
        """
        return self.filter(grader__gte=grader, grader__lte=grader).order_by("grader_id", "-id")
