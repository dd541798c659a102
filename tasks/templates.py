"""Fill prompt templates, in which `{{name}}` marks a variable. Templates are never evaluated as code."""

import re
from collections import Counter
from collections.abc import Mapping

from django.conf import settings

from autotune.core.api import parsing
from autotune.core.errors import FieldError

VARIABLE = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*\}\}")


def variables(template: str) -> list[str]:
    """Return the names of a template's variables, each once, in the order in which they appear."""
    return list(dict.fromkeys(VARIABLE.findall(template)))


def render(template: str, values: Mapping[str, str]) -> str:
    """Replace each variable by its value and return the prompt. A value that contains `{{x}}` is not filled again.

    raises Invalid, pointing to `/variables/<name>` for every variable that is missing or unknown, and to `/variables`
           if the prompt would be too long, which is checked before it is built
    """
    variable_names = variables(template)
    errors = [
        _error(name, "missing_variable", "The template needs it.") for name in variable_names if name not in values
    ]
    extra = values.keys() - set(variable_names)
    errors += [_error(name, "unknown_variable", "The template has no such variable.") for name in sorted(extra)]
    if errors:
        raise parsing.invalid(errors)
    if _length(template, values) > settings.MAX_TEXT_BYTES:
        detail = f"The prompt would be longer than {settings.MAX_TEXT_BYTES} bytes of UTF-8."
        raise parsing.invalid([FieldError("/variables", "too_long", detail)])
    return VARIABLE.sub(lambda match: values[match[1]], template)


def _length(template: str, values: Mapping[str, str]) -> int:
    """The number of bytes of the prompt that `render` would return."""
    byte_count = len(VARIABLE.sub("", template).encode())
    return byte_count + sum(
        count * len(values[name].encode()) for name, count in Counter(VARIABLE.findall(template)).items()
    )


def _error(name: str, code: str, detail: str) -> FieldError:
    return FieldError(f"/variables/{parsing.escape(name)}", code, detail)
