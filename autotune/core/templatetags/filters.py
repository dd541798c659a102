"""Template tags for the fields of a filter bar. Each has the name of a parameter, and shows its value and fault."""

from collections.abc import Iterable
from typing import Any

from django import template

from autotune.core.pages.listing import ListRequest

register = template.Library()


@register.inclusion_tag("core/pages/filter_choice.html")
def choice_filter(
    list_request: ListRequest[Any], name: str, label: str, choices: Iterable[str | tuple[str, str]], **options: Any
) -> dict[str, Any]:
    """Show a list to choose from.

    choices  values, or pairs of value and label
    options  empty, the label of no choice; words=True shows `not_found` as `not found`; explained=False leaves the
             fault to a notice of the page
    """
    pairs = [(choice, choice) if isinstance(choice, str) else choice for choice in choices]
    return {**_field(list_request, name, label, options), "choices": pairs, "empty": options.get("empty", "Any")}


@register.inclusion_tag("core/pages/filter_text.html")
def text_filter(list_request: ListRequest[Any], name: str, label: str, **options: Any) -> dict[str, Any]:
    """Show an input for text. `options`: placeholder, maxlength, type, code=True for monospace, explained."""
    return _field(list_request, name, label, {"type": "text", **options})


@register.inclusion_tag("core/pages/filter_text.html")
def day_filter(list_request: ListRequest[Any], name: str, label: str, **options: Any) -> dict[str, Any]:
    """Show an input for a day; for text if the address has a moment. `options`: unit, explained."""
    has_moment = len(list_request.form_values.get(name, "")) > len("2026-01-31")
    return _field(list_request, name, label, {"type": "text" if has_moment else "date", **options})


def _field(list_request: ListRequest[Any], name: str, label: str, options: dict[str, Any]) -> dict[str, Any]:
    value, fault = list_request.form_values.get(name, ""), list_request.faults.get(name)
    return {"explained": True, **options, "name": name, "label": label, "value": value, "fault": fault}
