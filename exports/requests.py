"""The parameters of an export, and the check of which of them fit together."""

from typing import Annotated, Any

from msgspec import Meta

from autotune.core.errors import Invalid
from scores.results.filters import ScoreFilter, Unit

CHOICES = {
    "format": ("jsonl", "parquet", "tfrecord", "json"),
    "layout": ("records", "preferences", "kto", "verl"),
    "per": ("completion", "grader"),
    "naming": ("snake", "camel"),
    "compression": ("gzip", "zstd"),
    "strategy": ("best_worst", "all", "random"),
}
# Parameters that only some layouts use: with another layout they would be ignored silently.
LAYOUTS_OF = {
    "per": ("records", "kto"),
    "dimensions": ("records",),
    "dimension_columns": ("records",),
    "naming": ("records", "preferences", "kto"),
    "threshold": ("kto",),
    "conversational": ("records", "preferences", "kto"),
    "tools": ("records", "preferences", "kto"),
    "include": ("records",),
    "min_score_delta": ("preferences",),
    "strategy": ("preferences",),
    "seed": ("preferences",),
    "cap_per_prompt": ("preferences",),
}
FORMATS_OF = {"verl": ("jsonl", "parquet")}  # the formats that the layout's loader reads
CAPPED = ("all", "random")  # strategies that make several pairs of a prompt
INCLUDED = ("metadata", "variables")  # data of the completion that a row may include, as JSON text
MAX_CAP = 1_000
MAX_SEED = 2**53 - 1


def _one_of(name: str) -> Any:
    """Return a text type whose schema lists the choices; `check` rejects other values and names the choices."""
    return Annotated[str, Meta(extra_json_schema={"enum": list(CHOICES[name])})]


class ExportQuery(ScoreFilter):
    """The filters of scores, and how the rows are written.

    `threshold` (0.5) is for the layout `kto`; `conversational` for `records`, `preferences` and `kto`; `tools` (rows
    with tool calls) requires `conversational`; `minScoreDelta` (0), `strategy` (`best_worst`), `seed` (0; with
    `random`) and `capPerPrompt` are for `preferences`; `dimensions`, `dimensionColumns` and `include` (`metadata`,
    `variables` or both, separated by a comma) for `records`.
    """

    min_reward: Unit | None = None
    format: _one_of("format") = "jsonl"  # type: ignore[valid-type]
    layout: _one_of("layout") = "records"  # type: ignore[valid-type]
    per: _one_of("per") = "completion"  # type: ignore[valid-type]
    dimensions: bool = False
    dimension_columns: bool = False
    naming: _one_of("naming") = "snake"  # type: ignore[valid-type]
    compression: _one_of("compression") | None = None  # type: ignore[valid-type]
    threshold: Unit | None = None
    conversational: bool = False
    tools: bool = False
    include: str | None = None
    min_score_delta: Unit | None = None
    strategy: _one_of("strategy") | None = None  # type: ignore[valid-type]
    seed: Annotated[int, Meta(ge=0, le=MAX_SEED)] | None = None
    cap_per_prompt: Annotated[int, Meta(ge=1, le=MAX_CAP)] | None = None

    @property
    def includes_dimensions(self) -> bool:
        """Return whether rows include dimensions, as an object or as columns."""
        return self.dimensions or self.dimension_columns

    @property
    def included(self) -> tuple[str, ...]:
        """Return the members of INCLUDED that the query asks for, in their order."""
        names = (self.include or "").split(",")
        return tuple(name for name in INCLUDED if name in names)


def check(query: ExportQuery, *, pointer_prefix: str = "?") -> None:
    """Reject unknown choices, listing the valid ones, and parameters that do not fit together.

    pointer_prefix  precedes a parameter's name in a pointer: `?` for a query, `/` for a body
    raises          Invalid
    """
    wire = dict(zip(query.__struct_fields__, query.__struct_encode_fields__, strict=True))
    for name, choices in CHOICES.items():
        if getattr(query, name) not in (*choices, None):
            raise Invalid.field(f"{pointer_prefix}{wire[name]}", "invalid_choice", f"must be {' or '.join(choices)}.")
    plain = ExportQuery()
    for name, layouts in LAYOUTS_OF.items():
        if query.layout not in layouts and getattr(query, name) != getattr(plain, name):
            with_them = " or ".join(f"layout={layout}" for layout in layouts)
            raise Invalid.field(
                f"{pointer_prefix}{wire[name]}",
                "does_not_fit",
                f"it requires {with_them}; omit it, or change the layout.",
            )
    if query.dimensions and query.dimension_columns:
        raise Invalid.field(
            f"{pointer_prefix}dimensionColumns", "does_not_fit", "it replaces `dimensions`; set only one of them."
        )
    if query.tools and not query.conversational:
        detail = "it requires conversational=true, since plain text cannot hold tool calls."
        raise Invalid.field(f"{pointer_prefix}tools", "does_not_fit", detail)
    if query.include is not None and not set(query.include.split(",")) <= set(INCLUDED):
        detail = f"it must be {' or '.join(INCLUDED)}, or both separated by a comma."
        raise Invalid.field(f"{pointer_prefix}include", "invalid_choice", detail)
    formats = FORMATS_OF.get(query.layout, CHOICES["format"])
    if query.format not in formats:
        raise Invalid.field(
            f"{pointer_prefix}format", "does_not_fit", f"layout={query.layout} requires format={' or '.join(formats)}."
        )
    if query.seed is not None and query.strategy != "random":
        raise Invalid.field(f"{pointer_prefix}seed", "does_not_fit", "it requires strategy=random.")
    check_cap(query.cap_per_prompt, query.strategy, pointer_prefix=pointer_prefix)


def check_cap(cap: int | None, strategy: str | None, *, pointer_prefix: str) -> None:
    """Reject a cap if the strategy makes only one pair of each prompt: raises Invalid."""
    if cap is not None and strategy not in CAPPED:
        detail = "it requires strategy=all or strategy=random; best_worst makes one pair of a prompt."
        raise Invalid.field(f"{pointer_prefix}capPerPrompt", "does_not_fit", detail)
