"""What judges for each kind of hosted grader: a kind registers a function that prepares the judge of a version."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from graders.hosted.messages import Judge
from graders.models import Grader

Preparation = Callable[[Grader, UUID], Judge | None]

_preparations: Final[dict[str, Preparation]] = {}


class UnknownKind(LookupError):
    """Nothing is registered that judges for graders of this kind."""


def register(kind: str, prepare: Preparation) -> None:
    """Register what judges for a kind of grader; a later registration of the kind replaces it.

    prepare  called with a grader and the id of one of its versions; returns the judge, or None if the version is gone
    """
    _preparations[kind] = prepare


def require(kind: str) -> Preparation:
    """Return what prepares the judges of a kind.

    raises UnknownKind
    """
    try:
        return _preparations[kind]
    except KeyError:
        raise UnknownKind(f"No judge is registered for graders of the kind {kind!r}.") from None
