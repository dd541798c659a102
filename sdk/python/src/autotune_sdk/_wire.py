"""Convert between Python and the API's JSON: names, dataclasses, times and query strings."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, TypeVar

from .errors import UnexpectedAnswer, UnsendableValue

T = TypeVar("T")
Decoder = Callable[[Any], Any]


@cache
def camel(name: str) -> str:
    """Convert `task_id` to `taskId`; a camelCase name stays unchanged."""
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def camel_members(value: Any) -> Any:
    """Convert a structure of the API (limits, retry, a panel's member) to camelCase members, one level deep.

    Takes a mapping, one of the client's dataclasses, or a list of these; anything else passes as it is.
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, Mapping):
        return {camel(key): member for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [camel_members(member) for member in value]
    return value


def dumps(value: Any) -> bytes:
    """Encode a value as compact UTF-8 JSON. Raises UnsendableValue for NaN, lone surrogates and non-JSON types."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as exc:
        raise UnsendableValue("a text contains a lone surrogate, which UTF-8 cannot encode") from exc
    except (TypeError, ValueError, RecursionError) as exc:
        raise UnsendableValue(f"not JSON: {exc}") from exc


def time_text(value: date | datetime) -> str:
    """Format a time as ISO 8601; a naive time is UTC, as for the server."""
    if not isinstance(value, datetime):
        return value.isoformat()
    value = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


REPEATED = frozenset({"source"})  # parameters that a query repeats for each value


def query(parameters: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Convert query parameters to the API's names and spelling; omit those that are None."""
    out: dict[str, str | list[str]] = {}
    for name, value in parameters.items():
        if value is None:
            continue
        text: str | list[str]
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, date):
            text = time_text(value)
        elif name in REPEATED:
            text = [value] if isinstance(value, str) else list(map(str, value))
        elif isinstance(value, (list, tuple)):
            text = ",".join(map(str, value))
        else:
            text = str(value)
        out[camel(name)] = text
    return out


def decode(kind: type[T], data: object) -> T:
    """Build a dataclass from a JSON object: ignore unknown members; missing ones are None (or an empty tuple)."""
    if not isinstance(data, Mapping):
        raise UnexpectedAnswer(f"expected the JSON object of a {kind.__name__}, got {type(data).__name__}")
    try:
        return kind(**{name: decoder(data.get(wire)) for name, wire, decoder in _plan(typing.cast(Any, kind))})
    except (TypeError, ValueError) as exc:
        raise UnexpectedAnswer(f"the response's {kind.__name__} cannot be read: {exc}") from exc


@cache
def _plan(kind: type[Any]) -> tuple[tuple[str, str, Decoder], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((f.name, camel(f.name), _decoder(hints[f.name], f.default)) for f in fields(kind) if f.init)


def _decoder(hint: Any, default: Any) -> Decoder:
    absent = None if default is MISSING else default
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        some = [a for a in typing.get_args(hint) if a is not type(None)]
        if len(some) != 1:
            return lambda value: absent if value is None else value
        return _decoder(some[0], default)
    if origin is tuple:
        inner = _decoder(typing.get_args(hint)[0], MISSING)
        return lambda value: () if value is None else tuple(inner(v) for v in value)
    if hint is datetime:
        return lambda value: absent if value is None else datetime.fromisoformat(value)
    if is_dataclass(hint):
        kind = typing.cast(type[Any], hint)
        return lambda value: absent if value is None else decode(kind, value)
    return lambda value: absent if value is None else value
