"""Template tags and filters that format values: the functions of `core/pages/formats.py` and `core/pages/badges.py`."""

from django import template

from autotune.core.pages import badges, formats, zones

register = template.Library()

for tag in (badges.icon, badges.when, badges.dated, badges.status, badges.unreadable):
    register.simple_tag(tag)

for format_filter in (
    *(formats.moment, formats.ago, formats.duration, formats.number, formats.score, formats.percent, formats.byte_size),
    *(formats.public_id, formats.brief, formats.words, formats.pretty_json, badges.tone, zones.stamp),
):
    register.filter(format_filter.__name__, format_filter)
