"""What an export can be asked for."""

from typing import Annotated, Any

from msgspec import Meta

from autotune.core.errors import Invalid
from scores.filters import ScoreFilter, Unit

MEDIA_TYPES = {"jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}
CHOICES = {
    "format": tuple(MEDIA_TYPES),
    "layout": ("records",),
    "per": ("completion", "grader"),
    "naming": ("snake", "camel"),
}


def _one_of(name: str) -> Any:
    """Text whose choices the schema names; the check is `check_choices`, whose sentence names them too."""
    return Annotated[str, Meta(extra_json_schema={"enum": list(CHOICES[name])})]


class ExportQuery(ScoreFilter):
    """The filters of scores, and how the records are written."""

    min_reward: Unit | None = None
    format: _one_of("format") = "jsonl"  # type: ignore[valid-type]
    layout: _one_of("layout") = "records"  # type: ignore[valid-type]
    per: _one_of("per") = "completion"  # type: ignore[valid-type]
    dimensions: bool = False
    naming: _one_of("naming") = "snake"  # type: ignore[valid-type]


def check_choices(query: ExportQuery) -> None:
    """raises Invalid for a format, layout, row or naming that is not offered, naming those that are"""
    for name, choices in CHOICES.items():
        if getattr(query, name) not in choices:
            raise Invalid.field(f"?{name}", "invalid_choice", f"give {' or '.join(choices)}.")
