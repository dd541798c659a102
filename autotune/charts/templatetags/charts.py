"""The template tag `{% chart value %}`, which shows a chart with its title, summary and table."""

from typing import Any

from django import template

from autotune.charts import Chart

register = template.Library()


@register.inclusion_tag("charts/_chart.html")
def chart(value: Chart) -> dict[str, Any]:
    """Show a chart; see `autotune.charts`."""
    return {"chart": value}
