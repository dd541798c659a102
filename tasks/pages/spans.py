"""Read and write lengths of time such as `30 s` and `24 h`; request bodies have them in milliseconds."""

import re
from decimal import Decimal
from typing import Any, Final

from django import forms

UNITS: Final = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_SPAN: Final = re.compile(r"(\d{1,15}(?:\.\d{1,3})?)\s*(ms|s|min|h|d)", re.ASCII)


def written(milliseconds: int) -> str:
    """Write a length of time in the largest unit in which it is a whole number: `24 h`, `500 ms`."""
    if milliseconds == 0:
        return "0 ms"
    name, size = next((name, size) for name, size in reversed(UNITS.items()) if milliseconds % size == 0)
    if name == "d" and milliseconds < 2 * size:
        name, size = "h", UNITS["h"]
    return f"{milliseconds // size} {name}"


class SpanField(forms.CharField):
    """A form field for a length of time with its unit; its value is in milliseconds."""

    def prepare_value(self, value: Any) -> Any:
        return written(value) if isinstance(value, int) else value

    def clean(self, value: Any) -> int | None:
        text = super().clean(value).strip().lower()
        if not text:
            return None
        match = _SPAN.fullmatch(text)
        if match is None:
            raise forms.ValidationError("Enter a number with a unit (ms, s, min, h or d), for example 30 s.")
        return int(Decimal(match[1]) * UNITS[match[2]])
