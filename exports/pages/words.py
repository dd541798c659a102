"""How exports are told: what a layout is, who loads it, what was asked for, why one is over."""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout as people choose it. `loads` is what its files are for."""

    name: str
    title: str
    row: str
    loads: str


_ALL: Final = (
    Layout(
        "records", "Records", "A completion with its reward.",
        "Reward models, best-of-n, analysis: datasets, pandas, DuckDB.",
    ),
    Layout(
        "preferences", "Preference pairs", "A prompt, a better and a worse answer.",
        "DPOTrainer and RewardTrainer of TRL; RewardDataset of OpenRLHF.",
    ),
    Layout("kto", "Good or bad", "An answer and whether it is good.", "KTOTrainer of TRL."),
    Layout(
        "verl", "Prompts for veRL", "A prompt, once for all its answers.", "RLHFDataset of veRL, for GRPO and PPO."
    ),
)  # fmt: skip
LAYOUTS: Final = {layout.name: layout for layout in _ALL}

FORMATS: Final = {"jsonl": "JSON Lines", "parquet": "Parquet", "tfrecord": "TFRecord", "json": "JSON"}

LABELS: Final = {
    "taskId": "task", "modelId": "model", "graderId": "grader", "graderVersion": "grader version",
    "minScore": "score from", "maxScore": "score to", "minConfidence": "confidence from", "minReward": "reward from",
    "startDate": "from", "endDate": "until", "per": "a row for each", "dimensions": "dimensions",
    "dimensionColumns": "dimension columns", "naming": "names", "compression": "compression", "threshold": "good from",
    "conversational": "conversations", "tools": "tool calls", "include": "completion data",
    "minScoreDelta": "rewards apart by", "strategy": "pairs", "seed": "seed",
    "capPerPrompt": "pairs of a prompt at most",
}  # fmt: skip

OVER: Final = {
    "pending": "It waits for its turn. Of an organization two exports run at a time.",
    "running": "It is being written, part by part. You may leave this page; a worker goes on with it.",
    "failed": "It has no files.",
    "cancelled": "Somebody cancelled it, and its files were deleted.",
    "withdrawn": "A text that it may have held was erased, so its files were deleted. A new export is without it.",
    "expired": "Its files were deleted after their time.",
}

ADVICE: Final = {
    "forbidden": "Whoever asked lost the right to read this, or may read more or less than then. Ask anew yourself.",
    "out_of_range": "There are more than 500 names of dimensions: choose one task or one grader.",
    "too_many_records": "JSON holds 10,000 rows at most: choose JSON Lines, or narrow the selection.",
    "not_found": "Something that it names is gone.",
    "unreadable_text": "A text could not be decrypted: this server's operators have to look at its encryption keys.",
    "storage_full": "The disk for export files was full. Ask your operator to free space.",
    "storage_unavailable": "The storage was away for several minutes. Ask again later.",
    "worker_lost": "The workers died again and again. This server's operators have to look at their logs.",
    "internal_error": "A fault of this server; its log tells more.",
    "withdrawn": "Ask for it again; the new one is without the text.",
}  # fmt: skip


def layout_of(query: dict[str, Any]) -> Layout:
    return LAYOUTS.get(query.get("layout", "records"), LAYOUTS["records"])


def format_of(query: dict[str, Any]) -> str:
    """`JSON Lines` or `JSON Lines, zstd`."""
    name, compression = str(query.get("format", "jsonl")), query.get("compression")
    title = FORMATS.get(name, name)
    return f"{title}, {compression}" if compression else title


def describe_query(query: dict[str, Any], names: dict[str, str]) -> list[tuple[str, str]]:
    """Describe a query, without layout and format, as (label, value). `names` replaces ids by names."""
    return [(LABELS[member], _value(value, names)) for member, value in query.items() if member in LABELS]


def _value(value: Any, names: dict[str, str]) -> str:
    if value is True:
        return "yes"
    text = str(value)
    return names.get(text, text.replace("_", " ") if text in ("best_worst",) else text)
