"""Page forms that produce the same Structs as the API's bodies, checked by the same rules.

A field's name is its place in the body: `max_batch_size` is `/maxBatchSize`, `limits__timeout_ms` is
`/limits/timeoutMs`. An error that the API would return with a pointer is shown beside the field of that place.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from django import forms
from msgspec import Struct

from autotune.core import labels
from autotune.core.api import parsing
from autotune.core.errors import AutotuneError, FieldError

T = TypeVar("T", bound=Struct)
DEEPER = "__"
ABSENT = object()


class BodyForm(forms.Form):
    """A form whose valid data is the body of an operation.

    pointers  field name -> JSON pointer, if it does not follow from the name
    blank     what a field left empty is in the body: absent, or null for the names in `clears`
    """

    pointers: ClassVar[Mapping[str, str]] = {}
    clears: ClassVar[frozenset[str]] = frozenset()
    required_css_class = "required"
    use_required_attribute = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)

    def pointer(self, name: str) -> str:
        """Return the JSON pointer of a field in the body."""
        return self.pointers.get(name) or "".join(f"/{_camel(step)}" for step in name.split(DEEPER))

    def body(self, shape: type[T]) -> T:
        """Return the valid data as the operation's Struct.

        raises Invalid with pointers, as the API does: pass it to `refuse`
        """
        return parsing.convert(self.values(), shape)

    def values(self) -> dict[str, Any]:
        """Return the valid data as plain JSON; an empty field is absent, or null if that clears its member."""
        body: dict[str, Any] = {}
        for name, value in self.cleaned_data.items():
            value = self._body_value(name, value)
            if value is ABSENT:
                continue
            *above, last = self.pointer(name).lstrip("/").split("/")
            parent = body
            for step in above:
                parent = parent.setdefault(step, {})
            parent[last] = value
        return body

    def refuse(self, error: AutotuneError) -> None:
        """Show each of the error's field errors beside its field, the others above the form."""
        self.is_valid()
        for field_error in error.errors:
            name = self._field_at(field_error)
            detail = field_error.detail
            self.add_error(name, detail if name else f"{field_error.pointer}: {detail}".removeprefix(": "))
        if not error.errors:
            self.add_error(None, error.detail)

    def _body_value(self, name: str, value: Any) -> Any:
        if value is None or value == "" or value == []:
            return None if name in self.clears else ABSENT
        return value.replace("\r\n", "\n") if isinstance(value, str) else value  # a textarea's lines end with both

    def _field_at(self, error: FieldError) -> str | None:
        """Return the field at the place of the error, or the nearest one above it."""
        places = {self.pointer(name): name for name in self.fields}
        pointer = error.pointer
        while pointer:
            if pointer in places:
                return places[pointer]
            pointer = pointer.rpartition("/")[0]
        return None


class LinesField(forms.CharField):
    """A list of text with one entry per line; empty lines are ignored."""

    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> list[str]:
        text = super().clean(value)
        return [line for each in text.splitlines() if (line := each.strip())]


class JSONTextField(forms.CharField):
    """JSON as text, parsed as strictly as the API does."""

    widget = forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "code"})

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text.strip():
            return None
        try:
            return parsing.loads(text.encode("utf-8", "surrogatepass"))
        except AutotuneError as exc:
            raise forms.ValidationError(f"Enter valid JSON: {exc.detail}") from exc


def choices_of(*values: str, none: str = "") -> list[tuple[str, str]]:
    """Return the choices of a select: each value with its words; `none` is the label of the empty one."""
    empty = [("", none)] if none else []
    return [*empty, *((value, labels.label(value)) for value in values)]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
