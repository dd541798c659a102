"""Descriptions of exports for pages: layouts and their trainers, the query, and why an export ended."""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """A layout as the form offers it. `loads` names what its files are for."""

    name: str
    title: str
    row: str
    loads: str


_ALL: Final = (
    LayoutChoice(
        "records", "Records", "A completion with its reward.",
        "Reward models, best-of-n, analysis: datasets, pandas, DuckDB.",
    ),
    LayoutChoice(
        "preferences", "Preference pairs", "A prompt, a better and a worse answer.",
        "DPOTrainer and RewardTrainer of TRL; RewardDataset of OpenRLHF.",
    ),
    LayoutChoice("kto", "Good or bad", "An answer and whether it is good.", "KTOTrainer of TRL."),
    LayoutChoice(
        "verl", "Prompts for veRL", "A prompt, once for all its answers.", "RLHFDataset of veRL, for GRPO and PPO."
    ),
)  # fmt: skip
LAYOUTS: Final = {layout.name: layout for layout in _ALL}

FORMATS: Final = {"jsonl": "JSON Lines", "parquet": "Parquet", "tfrecord": "TFRecord", "json": "JSON"}

LABELS: Final = {
    "taskId": "task", "modelId": "model", "graderId": "grader", "graderVersion": "grader version",
    "minScore": "score from", "maxScore": "score to", "minConfidence": "confidence from", "minReward": "reward from",
    "startDate": "from", "endDate": "until", "per": "one row per", "dimensions": "dimensions",
    "dimensionColumns": "dimension columns", "naming": "names", "compression": "compression",
    "threshold": "good at or above",
    "conversational": "conversations", "tools": "tool calls", "include": "completion data",
    "minScoreDelta": "minimum reward difference", "strategy": "pairs", "seed": "seed",
    "capPerPrompt": "maximum pairs per prompt", "source": "source",
}  # fmt: skip

OVER: Final = {
    "pending": "The export is queued. An organization runs at most two exports at a time.",
    "running": "The server is writing the files, part by part. You can leave this page; the export continues.",
    "failed": "The export has no files.",
    "cancelled": "Somebody cancelled the export, and its files were deleted.",
    "withdrawn": "Text that it may contain was erased, so its files were deleted. Create a new export.",
    "expired": "Its files were deleted at the end of their storage period.",
}

ADVICE: Final = {
    "forbidden": "The permissions of the person who requested this export have changed. Create a new export.",
    "out_of_range": "There are more than 500 dimension names. Choose one task or one grader.",
    "too_many_records": "JSON holds at most 10,000 rows. Choose JSON Lines, or narrow the selection.",
    "not_found": "A task or grader in its filters no longer exists. Choose others.",
    "unreadable_text": "Some text could not be decrypted. Ask this server's operator to check its encryption keys.",
    "storage_full": "The disk for export files was full. Ask your operator to free space.",
    "storage_unavailable": "The storage could not be reached for several minutes. Try again later.",
    "worker_lost": "The workers stopped repeatedly. Ask this server's operator to check their logs.",
    "internal_error": "An internal error occurred. Ask this server's operator to check its log.",
    "withdrawn": "Create a new export; it will not contain the erased text.",
}  # fmt: skip


def layout_of(query: dict[str, Any]) -> LayoutChoice:
    return LAYOUTS.get(query.get("layout", "records"), LAYOUTS["records"])


def format_of(query: dict[str, Any]) -> str:
    """Return the format's name, such as `JSON Lines` or `JSON Lines, zstd`."""
    name, compression = str(query.get("format", "jsonl")), query.get("compression")
    title = FORMATS.get(name, name)
    return f"{title}, {compression}" if compression else title


def describe_query(query: dict[str, Any], names: dict[str, str]) -> list[tuple[str, str]]:
    """Describe a query, without layout and format, as (label, value). `names` replaces ids by names."""
    return [(LABELS[member], _value(value, names)) for member, value in query.items() if member in LABELS]


def _value(value: Any, names: dict[str, str]) -> str:
    if value is True:
        return "yes"
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return names.get(text, text.replace("_", " ") if text in ("best_worst",) else text)
