"""Show prompt templates with their variables marked, and preview the prompt with sample values."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tasks import templates

SAMPLE: Final = "sample:"  # the names of the preview's fields begin so
MOST_SHOWN: Final = 100  # variables that get a field in the preview
MOST_MARKED: Final = 1_000  # occurrences of variables that are marked; a template of 1 MB can have 200,000
PREVIEWED: Final = 20_000  # characters of a template that a preview reads, since nothing was checked before
SAMPLED: Final = 2_000  # characters of a sample value
MOST_FILLED: Final = 100_000  # characters of a preview


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """A part of a template; `variable` is the name if the part is a variable."""

    text: str
    variable: str = ""


def parts(template: str) -> list[TemplatePart]:
    """Split the template into parts. The text after the first MOST_MARKED variables is one part."""
    pieces, position = [], 0
    for match in islice(templates.VARIABLE.finditer(template), MOST_MARKED):
        pieces += [TemplatePart(template[position : match.start()]), TemplatePart(match[0], match[1])]
        position = match.end()
    return [part for part in (*pieces, TemplatePart(template[position:])) if part.text]


def filled(template: str, samples: Mapping[str, str]) -> tuple[list[TemplatePart], bool]:
    """Fill the template with the samples. Return the parts of the prompt, and whether they are all of it.

    A variable without a sample stays as it is. The input was not checked yet, so only the beginning of a long template
    or of long samples is used.
    """
    pieces, remaining = [], MOST_FILLED
    for part in parts(template[:PREVIEWED]):
        text = samples.get(part.variable) or part.text
        pieces.append(TemplatePart(text[:remaining], part.variable))
        remaining -= len(text)
        if remaining <= 0:
            break
    return pieces, remaining >= 0 and len(template) <= PREVIEWED


@dataclass(frozen=True, slots=True)
class PreviewVariable:
    """A variable and the value that the preview gives it."""

    name: str
    value: str

    @property
    def field(self) -> str:
        return f"{SAMPLE}{self.name}"


def samples(template: str, field_values: Mapping[str, str]) -> list[PreviewVariable]:
    """Return the template's variables with the values that were typed for them."""
    names = templates.variables(template[:PREVIEWED])[:MOST_SHOWN]
    return [PreviewVariable(name, field_values.get(f"{SAMPLE}{name}", "")[:SAMPLED]) for name in names]
