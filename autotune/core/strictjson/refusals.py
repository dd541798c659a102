"""Why a JSON text is refused, with and without the place of the fault."""

from typing import Final

MAX_DIGITS: Final = 21
MAX_SAFE_INTEGER: Final = 2**53 - 1
UNSAFE: Final = "The integer is beyond ±(2^53 − 1), which not every reader can hold. Send it as a string."


class JSONRefused(ValueError):
    """The text is not acceptable JSON.

    code     invalid_json, number_not_finite, integer_out_of_range, duplicate_key, invalid_text, too_deep
    message  one sentence for the sender of the text
    pointer  JSON pointer of the fault, "" when it concerns the whole text
    """

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer


class ScanFault(Exception):
    """A fault that the scanner raises, without its place."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class FaultyItem:
    """Replaces an item of a list that was refused, and holds the reason."""

    __slots__ = ("refused",)

    def __init__(self, refused: JSONRefused) -> None:
        self.refused = refused
