"""The fast pass: the C scanner with hooks, which finds that there is a fault, not where."""

from collections.abc import Callable
from functools import lru_cache
from json import JSONDecoder
from typing import Any, NamedTuple

from autotune.core.strictjson.refusals import MAX_DIGITS, MAX_SAFE_INTEGER, UNSAFE, ScanFault


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ScanFault("duplicate_key", "A member name appears twice in one object.")
    return members


def refuse_constant(name: str) -> Any:
    """Refuse NaN, Infinity and -Infinity, which Python's scanner takes."""
    raise ScanFault("invalid_json", f"{name} is not a JSON number.")


class NumberRules(NamedTuple):
    """The options for numbers; see `loads`."""

    max_digits: int = MAX_DIGITS
    safe_integers: bool = False
    large_as_text: bool = False

    def parse_float(self, text: str) -> float | str:
        value = float(text)
        if value - value != 0.0:
            if self.large_as_text:
                return text
            raise ScanFault("number_not_finite", "The number is too large for a double.")
        return value

    def parse_int(self, text: str) -> int | str:
        if len(text) > 15:
            digits = len(text) - (text[0] == "-")
            if self.large_as_text:
                is_safe = digits <= MAX_DIGITS and -MAX_SAFE_INTEGER <= int(text) <= MAX_SAFE_INTEGER
                return int(text) if is_safe else text
            if digits > self.max_digits:
                raise ScanFault("number_not_finite", f"The integer has more than {self.max_digits} digits.")
            if self.safe_integers and not -MAX_SAFE_INTEGER <= int(text) <= MAX_SAFE_INTEGER:
                raise ScanFault("integer_out_of_range", UNSAFE)
        return int(text)


@lru_cache(maxsize=16)
def decoder(numbers: NumberRules) -> Callable[[str], Any]:
    """Return the function that parses a text by these rules; it raises ScanFault and JSONDecodeError."""
    return JSONDecoder(
        object_pairs_hook=_members,
        parse_constant=refuse_constant,
        parse_float=numbers.parse_float,
        parse_int=numbers.parse_int,
    ).decode
