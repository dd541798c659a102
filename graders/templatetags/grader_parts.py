"""Template tags of the pages of graders: the functions of `graders/pages/explanations.py`, and `rated`."""

from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core.pages.badges import icon
from graders.health.thresholds import HealthRating
from graders.pages import explanations

register = template.Library()

for explain in (
    *(explanations.advice, explanations.fault, explanations.advice_for, explanations.trouble),
    *(explanations.pause, explanations.check_name, explanations.visibility),
):
    register.filter(explain.__name__, explain)


RATING_SIGNS: Final = {"good": ("check", "good"), "warn": ("warning", "warning"), "bad": ("cross", "bad")}


@register.simple_tag
def rated(text: str, rating: HealthRating) -> str | SafeString:
    """Show a figure with its rating: an icon, a colour, and the threshold that it misses."""
    if rating.tone not in RATING_SIGNS:
        return text
    sign = icon(*RATING_SIGNS[rating.tone])
    note = format_html('<span class="sub">{}</span>', rating.note) if rating.note else ""
    return format_html('<span class="rated {}">{}{}{}</span>', rating.tone, sign, text, note)
