"""Search for pages and acts: those of the navigation, and the rotation of a grader's secret."""

from collections.abc import Iterator
from typing import Final

from autotune.access import policy
from autotune.access.frame import navigation
from autotune.access.principal import Principal
from graders.models import Grader
from graders.states import GraderKind

ROTATION: Final = "Rotate the secret of"


def labels(principal: Principal, text: str) -> Iterator[tuple[str, str, str]]:
    """Return (kind, label, address) of the pages and acts whose label contains the text and that the role permits."""
    pages = (("page", link.label, link.url) for link in navigation.allowed_entries(principal))
    acts = (("action", label, url) for label, url in navigation.allowed_acts(principal))
    for kind, label, url in (*pages, *acts):
        if text.casefold() in label.casefold():
            yield kind, label, url


def rotatable(principal: Principal, text: str, limit: int) -> Iterator[Grader]:
    """Return graders whose secret the principal may rotate, by the words "Rotate the secret of" or their name."""
    if policy.reach(principal, "endpoint_graders", "update") is None:
        return
    words = ROTATION.casefold()
    typed = text.casefold()
    name = text[len(words) :].strip() if typed.startswith(words) else text
    graders = Grader.objects.live().allowed(principal, "update").filter(kind=GraderKind.ENDPOINT)
    if name and not (len(typed) > 3 and typed in words):
        graders = graders.matching(search=name)
    yield from graders.order_by("name", "pk")[:limit]
