"""Turn error messages of the decoder into plain sentences for forms."""

import re
from typing import Final

_BOUND: Final = re.compile(r"Expected `[^`]*` (<=|>=|<|>) (-?[\d.]+)\.")
_LENGTH: Final = re.compile(r"Expected `(str|array|object)(?: \| null)?` of length (<=|>=) (\d+)\.")
_WRONG: Final = re.compile(r"Expected `([^`]*)`, got `([^`]*)`\.")
_WORDS: Final = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}
_THINGS: Final = {"str": "characters", "array": "entries", "object": "members"}
_TYPES: Final = {"object": "a JSON object", "array": "a JSON list", "str": "text", "int": "a whole number"}


def plain(detail: str) -> str:
    """Return an error message in plain words. A message of unknown form is returned unchanged."""
    if match := _BOUND.fullmatch(detail):
        return f"It must be {_WORDS[match[1]]} {match[2].removesuffix('.0')}."
    if match := _LENGTH.fullmatch(detail):
        return f"Give {_WORDS[match[2]]} {match[3]} {_THINGS[match[1]]}."
    if match := _WRONG.fullmatch(detail):
        expected_type = match[1].split(" | ")[0]
        return f"It must be {_TYPES.get(expected_type, expected_type)}."
    return "It holds nothing but spaces." if "matching regex '\\\\S'" in detail else detail
