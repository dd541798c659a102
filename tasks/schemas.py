"""Check that a response schema is a well-formed JSON Schema (draft 2020-12), without fetching or running anything.

It reads only the schema, in one linear pass. It fetches no references and runs no patterns, and answers are not
validated against the schema yet.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from autotune.core import strictjson
from autotune.core.api import parsing
from autotune.core.errors import FieldError
from autotune.core.strictjson import JSONRefused

MAX_SCHEMA_BYTES = 256 * 1024
MAX_SCHEMA_DEPTH = 32
DRAFT = "https://json-schema.org/draft/2020-12/schema"
TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})

SCHEMA = frozenset(
    {
        "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "items", "unevaluatedItems",
        "unevaluatedProperties", "contentSchema",
    }
)  # fmt: skip
SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
REFERENCES = frozenset({"$ref", "$dynamicRef"})
DATA = frozenset({"const", "default", "enum", "examples"})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_text_set(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value) and len(set(value)) == len(value)


def _is_type(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return _is_text_set(names) and bool(names) and TYPES.issuperset(names)


def _any_of(names: str, rule: tuple[Callable[[Any], bool], str]) -> dict[str, tuple[Callable[[Any], bool], str]]:
    return dict.fromkeys(names.split(), rule)


# keyword -> (whether a value is right, what it must be)
PLAIN: dict[str, tuple[Callable[[Any], bool], str]] = {
    **_any_of(
        "$id $anchor $dynamicAnchor $comment title description format pattern contentEncoding contentMediaType",
        (lambda value: isinstance(value, str), "a string"),
    ),
    **_any_of("maximum minimum exclusiveMaximum exclusiveMinimum", (_is_number, "a number")),
    **_any_of(
        "maxLength minLength maxItems minItems maxProperties minProperties maxContains minContains",
        (_is_count, "a whole number, zero or more"),
    ),
    **_any_of("uniqueItems deprecated readOnly writeOnly", (lambda value: isinstance(value, bool), "true or false")),
    **_any_of("enum examples", (lambda value: isinstance(value, list), "a list")),
    "required": (_is_text_set, "a list of strings, each once"),
    "type": (_is_type, f"one of {', '.join(sorted(TYPES))}, or a list of them"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above zero"),
    "$schema": (lambda value: isinstance(value, str) and value.rstrip("#") == DRAFT, DRAFT),
    "dependentRequired": (
        lambda value: isinstance(value, dict) and all(map(_is_text_set, value.values())),
        "an object of lists of strings",
    ),
}


def check(schema: dict[str, Any], pointer: str) -> list[FieldError]:
    """Return the errors of a schema: its depth, its size, a keyword's value, or a reference out of the document."""
    try:
        strictjson.check_free(schema, pointer, max_depth=MAX_SCHEMA_DEPTH)
    except JSONRefused as exc:
        return [FieldError(exc.pointer, exc.code, exc.message)]
    if len(msgspec.json.encode(schema)) > MAX_SCHEMA_BYTES:
        return [FieldError(pointer, "too_long", f"Larger than {MAX_SCHEMA_BYTES} bytes of JSON.")]
    errors: list[FieldError] = []
    for error in _faults(schema, pointer):
        errors.append(error)
        if len(errors) == parsing.MAX_ERRORS:
            break
    return errors


def _faults(schema: Any, pointer: str) -> Iterator[FieldError]:
    """Yield the errors of a schema and its subschemas. Its depth was checked before, so the recursion is bounded."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield _fault(pointer, "must be a schema: an object, true or false.")
        return
    for keyword, value in schema.items():
        yield from _keyword(keyword, value, f"{pointer}/{parsing.escape(keyword)}")


def _keyword(keyword: str, value: Any, pointer: str) -> Iterator[FieldError]:
    if keyword in REFERENCES:
        yield from _reference(value, pointer)
    elif keyword in SCHEMA:
        yield from _faults(value, pointer)
    elif keyword in SCHEMA_LISTS:
        if not isinstance(value, list) or not value:
            yield _fault(pointer, "must be a list of one schema or more.")
            return
        for index, part in enumerate(value):
            yield from _faults(part, f"{pointer}/{index}")
    elif keyword in SCHEMA_MAPS:
        if not isinstance(value, dict):
            yield _fault(pointer, "must be an object of schemas.")
            return
        for name, part in value.items():
            yield from _faults(part, f"{pointer}/{parsing.escape(name)}")
    elif keyword in PLAIN:
        right, what = PLAIN[keyword]
        if not right(value):
            yield _fault(pointer, f"must be {what}.")
    elif keyword not in DATA:
        yield from _hidden_references(value, pointer)


def _reference(value: Any, pointer: str) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield _fault(pointer, "must be a string.")
    elif not value.startswith("#"):
        yield FieldError(pointer, "remote_reference", "A reference must point into this schema: begin it with `#`.")


def _hidden_references(value: Any, pointer: str) -> Iterator[FieldError]:
    """Check references under unknown keywords too: a local reference can make such a value part of the schema."""
    if isinstance(value, list):
        for index, part in enumerate(value):
            yield from _hidden_references(part, f"{pointer}/{index}")
    elif isinstance(value, dict):
        for name, part in value.items():
            part_pointer = f"{pointer}/{parsing.escape(name)}"
            if name in REFERENCES and isinstance(part, str):
                yield from _reference(part, part_pointer)
            yield from _hidden_references(part, part_pointer)


def _fault(pointer: str, detail: str) -> FieldError:
    return FieldError(pointer, "invalid_schema", f"It {detail}")
