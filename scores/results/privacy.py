"""Decide which parts of a verdict or a failure a reader may see, by the grader's settings and the reader's role.

Everyone who may read a score may read its numbers. Reasoning and dimensions are for roles that read `reasoning`; if
the grader redacts them, only its own organization reads them. The message of a failed call may name the grader's host
and limits: other organizations get only the advice.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import UUID

from django.db.models import Q

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.core.crypto.fields import is_legible
from graders.models import Grader
from scores.results import failure_codes

SAID_TO_ALL: Final = frozenset({"grader_error", "grader_refused", "gone", "grader_gone"}) | {
    # the grader's own signed message, and codes that reveal nothing about it
    "deadline_exceeded", "panel_incomplete", "text_unreadable", "secret_unreadable", "no_score",
    *failure_codes.of("caller"),
}  # fmt: skip

KEPT: Final = "(kept by its grader)"


class PrivateVerdict(Protocol):
    """A score or a review, as a model or as a bare row."""

    organization_id: UUID
    grader_id: UUID
    reasoning: Any
    dimensions: Any


@dataclass(frozen=True, slots=True)
class ScoreViewer:
    """A reader. `reasoning` and `graders` are the reach of the role: own, organization, all or None."""

    organization: UUID
    person: UUID | None
    reasoning: str | None
    graders: str | None

    @classmethod
    def of(cls, principal: Principal) -> "ScoreViewer":
        return cls(
            principal.organization.pk,
            principal.user.pk,
            policy.reach(principal, "reasoning", "read"),
            policy.reach(principal, "endpoint_graders", "read"),
        )


@dataclass(frozen=True, slots=True)
class _Judge:
    organization: UUID
    maker: UUID
    redacts_reasoning: bool
    redacts_dimensions: bool


_NOBODY: Final = _Judge(UUID(int=0), UUID(int=0), True, True)


class GraderPrivacy:
    """The privacy settings of graders, loaded on demand: one query for any number of new ones."""

    def __init__(self) -> None:
        self._by_grader: dict[UUID, _Judge] = {}

    def meet(self, graders: Iterable[UUID]) -> None:
        """Load the settings of the graders that are not loaded yet."""
        if unknown := set(graders) - self._by_grader.keys():
            facts = ("organization_id", "created_by_id", "redact_reasoning", "redact_dimensions")
            for pk, *settings in Grader.objects.filter(pk__in=unknown).values_list("pk", *facts):
                self._by_grader[pk] = _Judge(*settings)

    def meet_those_of(self, verdicts: Iterable[PrivateVerdict]) -> None:
        """Load the settings of the graders of those verdicts that have something to hide."""
        self.meet({row.grader_id for row in verdicts if row.dimensions is not None or _has_reasoning(row)})

    def get(self, grader: UUID) -> _Judge:
        """Return the settings of a grader. One that is not loaded redacts everything."""
        return self._by_grader.get(grader, _NOBODY)


@dataclass(frozen=True, slots=True)
class ViewerSight:
    """Decides what one reader sees of verdicts whose graders are loaded."""

    reader: ScoreViewer
    judges: GraderPrivacy = field(default_factory=GraderPrivacy)

    @classmethod
    def of(cls, principal: Principal) -> "ViewerSight":
        return cls(ScoreViewer.of(principal))

    @classmethod
    def of_organization(cls, organization: UUID, judges: GraderPrivacy) -> "ViewerSight":
        """Return the sight of an organization, for its webhooks."""
        return cls(ScoreViewer(organization, None, "organization", "organization"), judges)

    def reasoning(self, of: PrivateVerdict) -> bool:
        judge = self.judges.get(of.grader_id)
        return self._reaches(judge, of.organization_id) and self._is_disclosed(judge, redacted=judge.redacts_reasoning)

    def dimensions(self, of: PrivateVerdict) -> bool:
        return self.dimensions_by(of.grader_id, of.organization_id)

    def dimensions_by(self, grader: UUID, organization: UUID) -> bool:
        """Whether the reader sees the dimensions of a score of `organization` by `grader`."""
        judge = self.judges.get(grader)
        return self._reaches(judge, organization) and self._is_disclosed(judge, redacted=judge.redacts_dimensions)

    def failure(self, code: str, grader: UUID) -> bool:
        """Whether the reader sees the message of a run that failed with `code`."""
        if code in SAID_TO_ALL:
            return True
        judge = self.judges.get(grader)
        return judge.organization == self.reader.organization or self.reader.graders == "all"

    def call(self, grader: UUID) -> bool:
        """Whether the reader sees how Autotune called a grader, and what came back: only its own organization does."""
        return self.judges.get(grader).organization == self.reader.organization

    def answer(self, grader: UUID, organization: UUID) -> bool:
        """Whether the reader sees a rejected answer about a completion of `organization`: it may hold a reasoning."""
        return self.call(grader) and self._reaches(self.judges.get(grader), organization)

    def _is_disclosed(self, judge: _Judge, *, redacted: bool) -> bool:
        return not redacted or judge.organization == self.reader.organization

    def _reaches(self, judge: _Judge, organization: UUID) -> bool:
        reader = self.reader
        match reader.reasoning:
            case "all":
                return True
            case "organization":
                return reader.organization in (organization, judge.organization)
            case "own":
                return reader.organization == judge.organization and reader.person == judge.maker
        return False


def _has_reasoning(row: Any) -> bool:
    """Whether a verdict has a reasoning, readable or not. A row of plain values holds the ciphertext."""
    return not is_legible(row, "reasoning") or row.reasoning is not None


def with_readable_dimensions(scores: Any, reader: ScoreViewer) -> Any:
    """Return the scores of a queryset whose dimensions the reader may see: the same rule for the database."""
    redacting = Grader.objects.filter(redact_dimensions=True).exclude(organization=reader.organization)
    readable = scores.exclude(grader__in=redacting.values("pk"))
    match reader.reasoning:
        case "all":
            return readable
        case "organization":
            of_organization = Q(organization=reader.organization) | Q(grader__organization=reader.organization)
            return readable.filter(of_organization)
        case "own":
            return readable.filter(grader__organization=reader.organization, grader__created_by=reader.person)
    return readable.none()
