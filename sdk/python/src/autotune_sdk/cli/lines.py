"""Read the lines to score: check all of them before submitting any, then read them again as a stream."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._strictjson import JSONRefused, depth, loads

MAX_TEXT = 1024 * 1024
MAX_METADATA, MAX_METADATA_DEPTH = 64 * 1024, 16
MAX_INTEGER = 2**53 - 1
MAX_LINE = 16 * 1024 * 1024
SHOWN = 20


@dataclass(frozen=True)
class Fields:
    """The names of a line's members; `model` is the model of lines without one."""

    model: str | None = None
    model_field: str = "modelId"
    prompt_field: str = "prompt"
    response_field: str = "response"

    def known(self) -> frozenset[str]:
        """Return all members that are read."""
        return frozenset(
            {self.model_field, self.prompt_field, self.response_field, "messages", "variables", "metadata"}
        )


@dataclass(frozen=True)
class Line:
    """One line: its number (from 1), the completion as the client takes it, and its size in bytes.

    prompt  the text to show; None when only the server knows it (variables)
    """

    number: int
    item: dict[str, Any]
    prompt: str | None
    size: int


@dataclass(frozen=True)
class Problem:
    """An error in one line."""

    number: int
    field: str
    detail: str

    def __str__(self) -> str:
        return (
            f"line {self.number}: {self.field}: {self.detail}" if self.field else f"line {self.number}: {self.detail}"
        )


@dataclass
class Survey:
    """The result of checking the whole file. `problems` holds the first 20."""

    digest: str = ""
    count: int = 0
    problem_count: int = 0
    problems: list[Problem] = field(default_factory=list)
    ignored: set[str] = field(default_factory=set)


class FileChanged(Exception):
    """The file changed after it was checked."""


class _Bad(Exception):
    def __init__(self, where: str, detail: str) -> None:
        super().__init__(detail)
        self.where, self.detail = where, detail


def external_id(digest: str, number: int) -> str:
    """Return the external id of a line: the same for the same line of the same file."""
    return hashlib.sha256(f"{digest}:{number}".encode()).hexdigest()[:32]


def survey(path: str, fields: Fields) -> Survey:
    """Read and check every line. Raises OSError."""
    result, digest = Survey(), hashlib.sha256()
    for number, raw in _raw_lines(path, digest):
        if not raw.strip():
            continue
        result.count += 1
        try:
            data = _parse(raw)
            result.ignored |= data.keys() - fields.known()
            _line(number, data, fields, len(raw))
        except _Bad as exc:
            result.problem_count += 1
            if len(result.problems) < SHOWN:
                result.problems.append(Problem(number, exc.where, exc.detail))
    result.digest = digest.hexdigest()
    return result


def read(path: str, fields: Fields, checked: Survey) -> Iterator[Line]:
    """Yield the lines of a checked file. Raises FileChanged, at the latest after the last line."""
    digest = hashlib.sha256()
    for number, raw in _raw_lines(path, digest):
        if raw.strip():
            try:
                yield _line(number, _parse(raw), fields, len(raw))
            except _Bad as exc:
                raise FileChanged from exc
    if digest.hexdigest() != checked.digest:
        raise FileChanged


def _raw_lines(path: str, digest: Any) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines and update the digest; of a line that is too long, only the first 16 MiB and a byte."""
    with open(path, "rb") as file:
        number = 0
        while raw := file.readline(MAX_LINE + 1):
            number += 1
            digest.update(raw)
            rest = raw
            while len(rest) > MAX_LINE and not rest.endswith(b"\n"):
                rest = file.readline(MAX_LINE + 1)
                digest.update(rest)
            yield number, raw


def _parse(raw: bytes) -> dict[str, Any]:
    if len(raw) > MAX_LINE:
        raise _Bad("", f"more than {MAX_LINE} bytes")
    try:
        data = loads(raw, max_depth=64)
    except JSONRefused as exc:
        raise _Bad("", f"{exc} ({exc.code})") from None
    if not isinstance(data, dict):
        raise _Bad("", "not a JSON object")
    return data


def _line(number: int, data: dict[str, Any], fields: Fields, size: int) -> Line:
    response = _text(data, fields.response_field)
    model = data.get(fields.model_field)
    model = fields.model if model is None else model
    if model is None:
        raise _Bad(fields.model_field, "missing (and no --model)")
    if not isinstance(model, str) or not model:
        raise _Bad(fields.model_field, "must be text")
    item: dict[str, Any] = {"model_id": model, "response": response}
    prompt_members = [name for name in (fields.prompt_field, "messages", "variables") if data.get(name) is not None]
    if len(prompt_members) != 1:
        requirement = f"one of {fields.prompt_field}, messages and variables is needed"
        raise _Bad(
            prompt_members[1] if prompt_members else fields.prompt_field, f"{requirement}, {len(prompt_members)} given"
        )
    prompt: str | None = None
    if prompt_members[0] == "messages":
        item["messages"], prompt = _messages(data["messages"])
    elif prompt_members[0] == "variables":
        item["variables"] = _object(data, "variables")
    else:
        item["prompt"] = prompt = _text(data, fields.prompt_field)
    if data.get("metadata") is not None:
        item["metadata"] = _metadata(_object(data, "metadata"))
    return Line(number, item, prompt, size)


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if value is None:
        raise _Bad(name, "missing")
    if not isinstance(value, str):
        raise _Bad(name, f"must be text, not {type(value).__name__}")
    if len(value) * 4 > MAX_TEXT and len(value.encode()) > MAX_TEXT:
        raise _Bad(name, f"more than {MAX_TEXT} bytes")
    return value


def _object(data: dict[str, Any], name: str) -> dict[str, Any]:
    value = data[name]
    if not isinstance(value, dict):
        raise _Bad(name, f"must be an object, not {type(value).__name__}")
    return value


def _messages(value: Any) -> tuple[list[dict[str, Any]], str]:
    """Check the messages; return them and the text of the user's last one."""
    if not isinstance(value, list) or not value:
        raise _Bad("messages", "must be a list with at least one message")
    prompt = ""
    for position, message in enumerate(value):
        where = f"messages/{position}"
        if not isinstance(message, dict):
            raise _Bad(where, "must be an object")
        if not isinstance(message.get("role"), str):
            raise _Bad(f"{where}/role", "must be text")
        if "content" not in message:
            raise _Bad(f"{where}/content", "missing")
        if message["role"] == "user" and isinstance(message["content"], str):
            prompt = message["content"]
    return value, prompt


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    if depth(value) > MAX_METADATA_DEPTH:
        raise _Bad("metadata", f"more than {MAX_METADATA_DEPTH} levels")
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) * 4 > MAX_METADATA and len(text.encode()) > MAX_METADATA:
        raise _Bad("metadata", f"more than {MAX_METADATA} bytes")
    stack: list[Any] = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, int) and abs(v) > MAX_INTEGER:
            raise _Bad("metadata", f"the integer {v} is beyond 2^53 - 1; send a string")
        if isinstance(v, (dict, list)):
            stack += v.values() if isinstance(v, dict) else v
    return value
