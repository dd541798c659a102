"""Prompt templates as they are read and tried out: their parts, and the prompt that sample values make."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tasks import templates

SAMPLE: Final = "sample:"  # the names of the preview's fields begin so
MOST_SHOWN: Final = 100  # variables that get a field in the preview
MOST_MARKED: Final = 1_000  # places of variables that are marked; a megabyte could hold two hundred thousand
PREVIEWED: Final = 20_000  # characters of a template that a preview reads: it comes before anything is checked
SAMPLED: Final = 2_000  # characters of a sample value
MOST_FILLED: Final = 100_000  # characters of a preview


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a template; `variable` is its name where it is one."""

    text: str
    variable: str = ""


def parts(template: str) -> list[Part]:
    """The template in pieces that together are its text; what comes after very many variables is one piece."""
    pieces, position = [], 0
    for match in islice(templates.VARIABLE.finditer(template), MOST_MARKED):
        pieces += [Part(template[position : match.start()]), Part(match[0], match[1])]
        position = match.end()
    return [part for part in (*pieces, Part(template[position:])) if part.text]


def filled(template: str, samples: Mapping[str, str]) -> tuple[list[Part], bool]:
    """The prompt that the samples make, in pieces, and whether that is all of it; a variable without a sample stays as
    it is. Nothing was checked yet: a long template and long samples make the beginning of a prompt alone.
    """
    pieces, remaining = [], MOST_FILLED
    for part in parts(template[:PREVIEWED]):
        text = samples.get(part.variable) or part.text
        pieces.append(Part(text[:remaining], part.variable))
        remaining -= len(text)
        if remaining <= 0:
            break
    return pieces, remaining >= 0 and len(template) <= PREVIEWED


@dataclass(frozen=True, slots=True)
class Sample:
    """A variable and the value that the preview gives it."""

    name: str
    value: str

    @property
    def field(self) -> str:
        return f"{SAMPLE}{self.name}"


def samples(template: str, field_values: Mapping[str, str]) -> list[Sample]:
    """The template's variables with the values that were typed for them."""
    names = templates.variables(template[:PREVIEWED])[:MOST_SHOWN]
    return [Sample(name, field_values.get(f"{SAMPLE}{name}", "")[:SAMPLED]) for name in names]
