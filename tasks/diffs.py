"""Compare two versions of a task: texts line by line, the other members as a whole."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal
from uuid import UUID

from autotune.core import labels
from autotune.core.crypto.fields import is_legible
from tasks.models import TaskVersion
from tasks.responses import NOTHING, content_of

Kind = Literal["same", "added", "removed", "skipped"]
CONTEXT: Final = 3  # lines that stay the same, shown around each change
MOST_LINES: Final = 2_000  # of a text that are compared line by line
MOST_REPLACED: Final = 500  # lines of each text, where they are shown as replaced
MOST_PAIRS: Final = 50_000  # of equal lines in the two texts: the time to compare grows with them
TEXTS: Final = (("systemPrompt", "System prompt"), ("promptTemplate", "Prompt template"))
OTHERS: Final = (("responseSchema", "Response schema"), ("model", "Model"))


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a text: its number before and after (None if it is not there), or how many are left out (`skipped`)."""

    kind: Kind
    text: str
    before: int | None = None
    after: int | None = None

    @property
    def mark(self) -> str:
        return {"added": "+", "removed": "−"}.get(self.kind, " ")


@dataclass(frozen=True, slots=True)
class TextChange:
    """How a text changed; `coarse` if it was too long to be compared line by line.

    more_added, more_removed  lines that are left out, as a line of `lines` says
    """

    name: str
    lines: list[DiffLine]
    coarse: bool = False
    more_added: int = 0
    more_removed: int = 0

    @property
    def added(self) -> int:
        return sum(line.kind == "added" for line in self.lines) + self.more_added

    @property
    def removed(self) -> int:
        return sum(line.kind == "removed" for line in self.lines) + self.more_removed


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A member's value before and after, as text; '' if there is none."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class VersionChange:
    """All that differs between two versions."""

    texts: list[TextChange]
    fields: list[FieldChange]

    @property
    def is_none(self) -> bool:
        return not self.texts and not self.fields


def between(old: TaskVersion, new: TaskVersion, grader_names: Mapping[UUID, str]) -> VersionChange:
    """Compare `old` with `new`, whose members must be prefetched.

    grader_names  the name to show for each grader
    """
    contents = content_of(old), content_of(new)
    readable = None not in contents
    before, after = (content or NOTHING for content in contents) if readable else (NOTHING, NOTHING)
    texts = [
        text_change(label, before[name] or "", after[name] or "")
        for name, label in TEXTS
        if (before[name] or "") != (after[name] or "")
    ]
    fields = [
        FieldChange(label, _written(before[name]), _written(after[name]))
        for name, label in OTHERS
        if _written(before[name]) != _written(after[name])
    ]
    if not readable:
        fields.append(FieldChange("Prompts, schema and model", *map(_legibility, (old, new))))
    seats = seats_of(old, grader_names), seats_of(new, grader_names)
    if seats[0] != seats[1]:
        fields.append(FieldChange("Panel", *seats))
    if old.aggregation != new.aggregation:
        fields.append(FieldChange("Aggregation", *(labels.label(version.aggregation) for version in (old, new))))
    return VersionChange(texts, fields)


def names(old: TaskVersion, new: TaskVersion) -> list[str]:
    """Name the members that differ, without comparing texts line by line. The members of both must be prefetched."""
    before, after = content_of(old), content_of(new)
    if before is None or after is None:
        labels = ["Unknown: one version cannot be read"]
    else:
        labels = [label for name, label in (*TEXTS, *OTHERS) if _written(before[name]) != _written(after[name])]
    if seats_of(old, {}) != seats_of(new, {}):
        labels.append("Panel")
    if old.aggregation != new.aggregation:
        labels.append("Aggregation")
    return labels


def text_change(name: str, before: str, after: str, *, context: int = CONTEXT) -> TextChange:
    """Compare two texts line by line; lines that are not near a change are left out."""
    old, new = before.splitlines(), after.splitlines()
    if old == new:  # only the ends of lines differ, or the last one: then all of it is shown as replaced
        return _replaced(name, old, new)
    if max(len(old), len(new)) > MOST_LINES or _pairs(old, new) > MOST_PAIRS:
        return _replaced(name, old, new)
    return TextChange(name, _lines(old, new, context))


def _replaced(name: str, old: Sequence[str], new: Sequence[str]) -> TextChange:
    """Show the first lines of both texts as replaced. All lines of a text of 2 MB would make a page far larger."""
    more_removed, more_added = (max(0, len(lines) - MOST_REPLACED) for lines in (old, new))
    replaced_lines = [
        *_removed(old[:MOST_REPLACED], 0), *_left_out(more_removed, "removed"),
        *_added(new[:MOST_REPLACED], 0), *_left_out(more_added, "added"),
    ]  # fmt: skip
    return TextChange(name, replaced_lines, coarse=True, more_added=more_added, more_removed=more_removed)


def _left_out(count: int, what: str) -> list[DiffLine]:
    return [DiffLine("skipped", f"{count} more {what} {'line' if count == 1 else 'lines'}")] if count else []


def seats_of(version: TaskVersion, grader_names: Mapping[UUID, str]) -> str:
    """The panel as text, one grader per line: its name, weight and part."""
    return "\n".join(
        f"{grader_names.get(member.grader_id, str(member.grader_id))}: weight {member.weight:g}, {member.part}"
        for member in version.members.all()
    )


def _lines(old: Sequence[str], new: Sequence[str], context: int) -> list[DiffLine]:
    lines: list[DiffLine] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for opcodes in matcher.get_grouped_opcodes(context):
        skipped = opcodes[0][1] - _last_before(lines)
        if skipped > 0:
            lines.append(DiffLine("skipped", f"{skipped} unchanged {'line' if skipped == 1 else 'lines'}"))
        for tag, old_from, old_to, new_from, new_to in opcodes:
            if tag == "equal":
                lines += [
                    DiffLine("same", text, old_from + at + 1, new_from + at + 1)
                    for at, text in enumerate(old[old_from:old_to])
                ]
                continue
            lines += _removed(old[old_from:old_to], old_from)
            lines += _added(new[new_from:new_to], new_from)
    remaining = len(old) - _last_before(lines)
    if remaining > 0:
        lines.append(DiffLine("skipped", f"{remaining} unchanged {'line' if remaining == 1 else 'lines'}"))
    return lines


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    others = Counter(new)
    return sum(count * others[line] for line, count in Counter(old).items())


def _last_before(lines: Sequence[DiffLine]) -> int:
    """The number of the last old line so far."""
    return next((line.before for line in reversed(lines) if line.before is not None), 0)


def _removed(lines: Sequence[str], start: int) -> list[DiffLine]:
    return [DiffLine("removed", text, before=start + at + 1) for at, text in enumerate(lines)]


def _added(lines: Sequence[str], start: int) -> list[DiffLine]:
    return [DiffLine("added", text, after=start + at + 1) for at, text in enumerate(lines)]


def _legibility(version: TaskVersion) -> str:
    return "stored" if is_legible(version, "content") else "stored, but cannot be read"


def _written(value: Any) -> str:
    """A value as text for readers: text unchanged, JSON indented with its members in order."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
