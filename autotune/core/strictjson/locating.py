"""The second pass, which only a refusal pays for: it finds the JSON pointer of the fault."""

from collections import Counter
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING, Any

from autotune.core.strictjson.checks import unstorable_text
from autotune.core.strictjson.places import pointer_of, walk
from autotune.core.strictjson.refusals import JSONRefused, ScanFault

if TYPE_CHECKING:
    from autotune.core.strictjson.scanning import NumberRules


class _Mark:
    """Marks a fault in the parsed value. `key` is set if a member name is at fault."""

    def __init__(self, fault: ScanFault, key: str | None = None) -> None:
        self.fault = fault
        self.key = key


def located(text: str, fault: ScanFault, numbers: "NumberRules") -> JSONRefused:
    """Parse again with hooks that leave marks in place of faults, and name the first mark."""
    try:
        value = marked(text, numbers)
    except JSONDecodeError as exc:
        return JSONRefused("invalid_json", f"{exc.msg} (line {exc.lineno}, column {exc.colno}).")
    except RecursionError:
        return JSONRefused("too_deep", "The text is nested too deeply.")
    return next(_marks(value, ""), None) or JSONRefused(fault.code, fault.message)


def marked(text: str, numbers: "NumberRules") -> Any:
    """Return the value with a mark in the place of each fault that the scanner can step over."""

    def lenient(parse: Callable[[str], Any]) -> Callable[[str], Any]:
        def hook(part: str) -> Any:
            try:
                return parse(part)
            except ScanFault as exc:
                return _Mark(exc)

        return hook

    def pairs_hook(pairs: list[tuple[str, Any]]) -> Any:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        counts = Counter(key for key, _ in pairs)
        duplicate = next(key for key, count in counts.items() if count > 1)
        return _Mark(ScanFault("duplicate_key", "A member name appears twice in one object."), duplicate)

    return JSONDecoder(
        object_pairs_hook=pairs_hook,
        parse_constant=lenient(numbers.parse_constant),
        parse_float=lenient(numbers.parse_float),
        parse_int=lenient(numbers.parse_int),
    ).decode(text)


def _marks(value: Any, prefix: str) -> Iterator[JSONRefused]:
    """Yield the fault of each mark in a value, with its pointer."""
    for node, _, path in walk(value):
        if type(node) is _Mark:
            if node.key is not None:
                path = (path, node.key)
            yield JSONRefused(node.fault.code, node.fault.message, pointer_of(path, prefix))


def first_fault(value: Any, prefix: str) -> JSONRefused | None:
    """The first mark in the value, else the first text in it that cannot be stored."""
    return next(_marks(value, prefix), None) or unstorable_text(value, prefix)
