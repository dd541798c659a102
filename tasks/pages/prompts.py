"""Prompt templates as they are read and tried out: their parts, and the prompt that sample values make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tasks import templates

SAMPLE: Final = "sample:"  # the names of the preview's fields begin so
MOST_SHOWN: Final = 100  # variables that get a field in the preview


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a template; `variable` is its name where it is one."""

    text: str
    variable: str = ""


def parts(template: str) -> list[Part]:
    """The template in pieces that together are its text."""
    found, at = [], 0
    for match in templates.VARIABLE.finditer(template):
        found += [Part(template[at : match.start()]), Part(match[0], match[1])]
        at = match.end()
    return [part for part in (*found, Part(template[at:])) if part.text]


def filled(template: str, samples: Mapping[str, str]) -> list[Part]:
    """The prompt that the samples make, in pieces; a variable without a sample stays as it is."""
    return [Part(samples.get(part.variable) or part.text, part.variable) for part in parts(template)]


@dataclass(frozen=True, slots=True)
class Sample:
    """A variable and the value that the preview gives it."""

    name: str
    value: str

    @property
    def field(self) -> str:
        return f"{SAMPLE}{self.name}"


def samples(template: str, given: Mapping[str, str]) -> list[Sample]:
    """The template's variables with the values that were typed for them."""
    names = templates.variables(template)[:MOST_SHOWN]
    return [Sample(name, given.get(f"{SAMPLE}{name}", "")) for name in names]
