"""Parses request bodies into typed Structs. Every error has a JSON pointer."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar
from unicodedata import category

import msgspec
import msgspec.inspect
from django.conf import settings

from autotune.core import ids, strictjson
from autotune.core.errors import FieldError, Invalid
from autotune.core.strictjson import FaultyItem, JSONRefused

T = TypeVar("T")
MAX_ERRORS = 100
NOT_ONE_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})  # Unicode's categories
MAX_SENTENCE = 1_000
MAX_SHOWN = 200
_WHERE = re.compile(r"^(?P<what>.*?)(?: - at (?:`key` in )?`(?P<path>\$.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")  # msgspec writes `[...]` for a free key: the pointer ends at its object
_MEMBER = re.compile(r"`(.*)`$", re.DOTALL)


class PublicId:
    """A public id in a Struct: a subclass names its `kind`, is converted from text, and holds the UUID."""

    kind = ""
    __slots__ = ("uuid",)

    def __init__(self, uuid: Any) -> None:
        self.uuid = uuid

    def __str__(self) -> str:
        return ids.encode(self.kind, self.uuid)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.uuid == self.uuid

    def __hash__(self) -> int:
        return hash(self.uuid)


def _decode(kind: type, value: Any) -> Any:
    if issubclass(kind, PublicId):
        if not isinstance(value, str):
            raise ValueError(f"malformed_id:Expected an id that begins with `{kind.kind}_`")
        try:
            return kind(ids.decode(kind.kind, value))
        except ValueError:
            raise ValueError(f"malformed_id:Expected an id that begins with `{kind.kind}_`") from None
    raise NotImplementedError(f"{kind} is not a type of the wire")


def loads(raw: bytes, *, items: str = "") -> Any:
    """Parse a body strictly into plain values.

    items   a member that is a list: a fault within one of its items leaves a `strictjson.Faulty` there
    raises  Invalid with the pointer of the fault
    """
    try:
        if items:
            return strictjson.loads_items(raw, items, safe_integers=True)
        return strictjson.loads(raw, max_depth=None, safe_integers=True)
    except JSONRefused as exc:
        raise refusal(exc) from exc


def refusal(exc: JSONRefused, prefix: str = "") -> Invalid:
    """Return the API's error for JSON that was refused."""
    return Invalid.field(prefix + exc.pointer, exc.code, exc.message)


def convert(value: Any, shape: type[T]) -> T:
    """Convert `value` to the Struct `shape`, without any coercion.

    raises Invalid with a pointer
    """
    try:
        return msgspec.convert(value, shape, dec_hook=_decode)
    except msgspec.ValidationError as exc:
        raise _invalid([field_error(exc)]) from exc


def convert_each(values: Sequence[Any], shape: type[T], prefix: str) -> tuple[dict[int, T], list[FieldError]]:
    """Convert each item by itself; return the converted ones by index, and an error for each of the others."""
    good: dict[int, T] = {}
    bad: list[FieldError] = []
    for index, value in enumerate(values):
        if isinstance(value, FaultyItem):
            bad.append(FieldError(value.refused.pointer, value.refused.code, value.refused.message))
            continue
        try:
            good[index] = msgspec.convert(value, shape, dec_hook=_decode)
        except msgspec.ValidationError as exc:
            bad.append(field_error(exc, f"{prefix}/{index}"))
    return good, bad


def convert_query(parameters: Mapping[str, str | list[str]], shape: type[T]) -> T:
    """Convert query parameters to a Struct; numbers and booleans are read from their text.

    parameters  a list of texts for each of `repeatable(shape)`
    """
    try:
        query = msgspec.convert(parameters, shape, strict=False, dec_hook=_decode)
    except msgspec.ValidationError as exc:
        error = field_error(exc)
        name = error.pointer.lstrip("/").partition("/")[0]  # without the position in a repeatable parameter
        raise _invalid([FieldError(f"?{name}", error.code, error.detail)]) from exc
    for name, wire in zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True):  # type: ignore[attr-defined]
        value = getattr(query, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise Invalid.field(f"?{wire}", "number_not_finite", "give a finite number.")
        if value is None and wire in parameters:  # msgspec reads the text `null` as None, which would drop a filter
            raise Invalid.field(f"?{wire}", "wrong_type", "give a value, or leave the parameter out.")
    return query


@cache
def repeatable(shape: type[msgspec.Struct]) -> frozenset[str]:
    """Return the wire names of the members that are lists: a query may repeat them."""
    fields = msgspec.inspect.type_info(shape).fields  # type: ignore[attr-defined]  # that of a Struct
    return frozenset(field.encode_name for field in fields if _is_list(field.type))


def _is_list(kind: msgspec.inspect.Type) -> bool:
    if isinstance(kind, msgspec.inspect.UnionType):
        return any(map(_is_list, kind.types))
    if isinstance(kind, msgspec.inspect.Metadata):
        return _is_list(kind.type)
    return isinstance(kind, msgspec.inspect.ListType | msgspec.inspect.VarTupleType)


def field_error(exc: msgspec.ValidationError, prefix: str = "") -> FieldError:
    """Convert msgspec's message to an error with code, pointer and detail."""
    text = str(exc)
    if len(text) > MAX_SENTENCE:  # only a name from outside can make it so long: it is not searched, and not sent back
        return FieldError(prefix, _classify(text)[0], f"{text[:MAX_SHOWN]}…")
    match = _WHERE.match(text)
    what, path = (match["what"], match["path"] or "$") if match else (text, "$")
    pointer = prefix + "".join(f"/{escape(step[0] or step[1])}" for step in _STEP.findall(path[1:]))
    code, detail = _classify(what)
    if code in {"unknown_field", "missing_field"} and (member := _MEMBER.search(what)):
        pointer += f"/{escape(member[1])}"
    return FieldError(pointer, code, detail)


def _classify(what: str) -> tuple[str, str]:
    code, colon, detail = what.partition(":")
    if colon and code == "malformed_id":
        return code, f"{detail}."
    for prefix, error_code in (
        ("Object contains unknown field", "unknown_field"),
        ("Object missing required field", "missing_field"),
        ("Invalid enum value", "invalid_choice"),
    ):
        if what.startswith(prefix):
            return error_code, f"{what}."
    if re.match(r"Expected `(int|float|.*\| ?(int|float).*)` (>|<)", what):
        return "out_of_range", f"{what}."
    if " of length " in what:
        return "invalid_length", f"{what}."
    if "matching regex" in what:
        return "invalid_format", f"{what}."
    return "wrong_type", f"{what}."


def escape(step: str) -> str:
    """Escape one step of a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")


def _invalid(errors: Sequence[FieldError]) -> Invalid:
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Invalid(f"{first.pointer or 'body'}: {first.detail}{more}", errors=errors[:MAX_ERRORS])


def invalid(errors: Sequence[FieldError]) -> Invalid:
    """Return one error for several members; its detail is that of the first."""
    return _invalid(errors)


def check_text(value: str, pointer: str, *, max_bytes: int) -> FieldError | None:
    """Return an error if the UTF-8 text is longer than `max_bytes`."""
    if len(value) * 4 <= max_bytes or len(value.encode()) <= max_bytes:
        return None
    return FieldError(pointer, "too_long", f"The text is too long: at most {max_bytes:,} bytes of UTF-8 are allowed.")


def check_line(text: str, pointer: str) -> FieldError | None:
    """Return an error if a name is blank, or is not one line of plain characters."""
    if not text.strip():
        return FieldError(pointer, "blank", "It holds nothing but spaces.")
    if any(category(char) in NOT_ONE_LINE for char in text):
        return FieldError(pointer, "invalid_text", "Control characters and line breaks are not allowed.")
    return None


def check_metadata(value: Any, pointer: str) -> FieldError | None:
    """Return an error if free-form metadata is too deep, too large or holds an integer beyond 2^53 - 1."""
    if not value:
        return None
    try:
        strictjson.check_free(value, pointer, max_depth=settings.MAX_METADATA_DEPTH)
    except JSONRefused as exc:
        return FieldError(exc.pointer, exc.code, exc.message)
    if len(msgspec.json.encode(value)) > settings.MAX_METADATA_BYTES:
        return FieldError(pointer, "too_long", f"Larger than {settings.MAX_METADATA_BYTES} bytes of JSON.")
    return None
