"""`{% chart value %}`: a chart with its title, its summary and its table."""

from typing import Any

from django import template

from autotune.charts import Chart

register = template.Library()


@register.inclusion_tag("charts/_chart.html")
def chart(value: Chart) -> dict[str, Any]:
    """A figure; see `autotune.charts`."""
    return {"chart": value}
