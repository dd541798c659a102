"""The types that all protocols share: the samples of a request and the outcomes of an answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from autotune.core.errors import Invalid
from scores.live.protocols.conversations import UnmappedConversation

AFTER: Final = "afterResponse"
_NOT_PLAIN: Final = re.compile("[\x00\ud800-\udfff]")


@dataclass(slots=True)
class TrainerSample:
    """One answer of a model: to `prompt`, or to `messages`.

    has_text  whether the answer held any text; if not, `response` is '' and the endpoint's policy applies
    refused   why it can never be scored, as a code; '' for one that can
    reason    the same as a sentence, if it adds detail
    """

    response: str
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    metadata: dict[str, Any] | None = None
    has_text: bool = True
    refused: str = ""
    reason: str = ""

    def add_after(self, messages: list[dict[str, Any]]) -> None:
        """Add the messages that followed the text to the metadata, where graders read them.

        raises  UnmappedConversation if the trainer's own metadata has the name
        """
        if messages:
            if self.metadata and AFTER in self.metadata:
                raise UnmappedConversation("reserved_name", f"The field name {AFTER} is reserved: rename the field.")
            self.metadata = {**(self.metadata or {}), AFTER: messages}


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    """The answer for one sample.

    value   a finite number; the endpoint's neutral value for what has no score
    code    why it has none: `pending` at the deadline, else what failed; None for a score
    reason  the same as a sentence, if it adds detail
    """

    value: float
    code: str | None = None
    reason: str = ""

    @property
    def is_scored(self) -> bool:
        return self.code is None


def the_object(body: Any) -> dict[str, Any]:
    """Return the body; raises Invalid unless it is an object."""
    if not isinstance(body, dict):
        raise Invalid.field("", "wrong_type", "send an object.")
    return body


def the_member(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a member; raises Invalid unless it is an object."""
    if not isinstance(body.get(name), dict):
        raise Invalid.field(f"/{name}", "wrong_type" if name in body else "missing_field", "must be an object.")
    return body[name]


def the_text(body: dict[str, Any], name: str) -> str:
    """Return a member; raises Invalid unless it is a string."""
    if name not in body:
        raise Invalid.field(f"/{name}", "missing_field", "is required: a string.")
    if not isinstance(body[name], str):
        raise Invalid.field(f"/{name}", "wrong_type", "must be a string.")
    return body[name]


def the_messages(value: Any, pointer: str) -> list[dict[str, Any]]:
    """Return the messages; raises Invalid unless they are a list of objects. Intake checks their content."""
    if not isinstance(value, list):
        raise Invalid.field(pointer, "wrong_type", "must be a string, or a list of messages.")
    for at, message in enumerate(value):
        if not isinstance(message, dict):
            raise Invalid.field(f"{pointer}/{at}", "wrong_type", "must be an object.")
    return value


def is_plain(value: Any) -> bool:
    """Whether all text in a JSON value can be stored: no NUL, no lone surrogate."""
    if isinstance(value, str):
        return _NOT_PLAIN.search(value) is None
    if isinstance(value, dict):
        return is_plain(list(value)) and is_plain(list(value.values()))
    return all(is_plain(element) for element in value) if isinstance(value, Sequence) else True
