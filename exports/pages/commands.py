"""Build the commands that download an export's files, check them, and train on them."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from exports.models import Export, ExportFile

ENDINGS: Final = {"jsonl": "json", "json": "json", "parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class CommandSnippet:
    """A command or program to copy. `note` says what it requires."""

    title: str
    text: str
    note: str = ""


def of(export: Export, data: Sequence[ExportFile]) -> list[CommandSnippet]:
    """Return the commands of a completed export with these data files."""
    return [_curl(export, data), _checked(data), _sdk(export), *_loaded(export, data), *_trained(export, data)]


def _curl(export: Export, data: Sequence[ExportFile]) -> CommandSnippet:
    address = f"{settings.PUBLIC_URL}/api/v1/exports/{export.public_id}/download"
    lines = [
        f'curl -sSf -C - -o {shlex.quote(file.name)} -H "Authorization: Bearer $AUTOTUNE_API_KEY" \\\n'
        f"  '{address}?file={file.name}'"
        for file in data[:20]
    ]
    if len(data) > 1:
        lines.append(
            'curl -sSf -o manifest.json -H "Authorization: Bearer $AUTOTUNE_API_KEY" \\\n'
            f"  '{address}?file=manifest.json'"
        )
    rest = f"\n# and {len(data) - 20} more: manifest.json names them" if len(data) > 20 else ""
    return CommandSnippet(
        "Download", "\n".join(lines) + rest, "Resumes a broken download. Requires an API key that may read exports."
    )


def _checked(data: Sequence[ExportFile]) -> CommandSnippet:
    lines = "\n".join(f"{file.sha256}  {file.name}" for file in data[:20])
    return CommandSnippet("Check", f"sha256sum -c <<'END'\n{lines}\nEND", "On macOS: shasum -a 256 -c.")


def _sdk(export: Export) -> CommandSnippet:
    text = (
        "from autotune_sdk import AutotuneClient\n\n"
        "client = AutotuneClient()  # AUTOTUNE_API_KEY, AUTOTUNE_BASE_URL\n"
        f'for file in client.exports.download("{export.public_id}", "data"):\n'
        "    print(file.path, file.sha256)"
    )
    return CommandSnippet("Python SDK", text, "Resumes an interrupted download, and checks each file's SHA-256.")


def _loaded(export: Export, data: Sequence[ExportFile]) -> list[CommandSnippet]:
    kind = export.query.get("format", "jsonl")
    if kind == "tfrecord":
        return [_tfrecord(export, data)]
    first = data[0].name
    if kind == "parquet" and export.query.get("dimensions"):
        text = f'import pandas\n\nrows = pandas.read_parquet("{first}")'
        return [CommandSnippet("pandas", text, "datasets cannot read the column dimensions, a map.")]
    names = f'"{first}"' if len(data) == 1 else json.dumps([file.name for file in data[:20]])
    field = ', field="records"' if kind == "json" else ""
    text = (
        "from datasets import load_dataset\n\n"
        f'rows = load_dataset("{ENDINGS[kind]}", data_files={names}{field}, split="train")'
    )
    if kind == "jsonl" and len(data) > 1:  # else a column that is null throughout the first part has no type
        text = (
            "import json\n\nfrom datasets import Features, load_dataset\n\n"
            'features = Features.from_dict(json.load(open("manifest.json"))["features"])\n'
            f'rows = load_dataset("json", data_files={names}, features=features, split="train")'
        )
    note = "Requires the package zstandard." if export.query.get("compression") == "zstd" and kind != "parquet" else ""
    return [CommandSnippet("datasets", text, note)]


def _tfrecord(export: Export, data: Sequence[ExportFile]) -> CommandSnippet:
    gzip = ', compression_type="GZIP"' if export.query.get("compression") == "gzip" else ""
    note = "Decompress it first: TensorFlow cannot read zstd." if export.query.get("compression") == "zstd" else ""
    text = f'import tensorflow as tf\n\nrows = tf.data.TFRecordDataset("{data[0].name}"{gzip})'
    return CommandSnippet("TensorFlow", text, note)


def _trained(export: Export, data: Sequence[ExportFile]) -> list[CommandSnippet]:
    """Return the commands of the trainers that can read the layout."""
    if export.query.get("format", "jsonl") not in ("jsonl", "parquet"):
        return []
    match export.query.get("layout"):
        case "preferences":
            chat = " --data.apply_chat_template" if export.query.get("conversational") else ""
            keys = "--data.prompt_key prompt --data.chosen_key chosen --data.rejected_key rejected"
            return [_trl("DPOTrainer"), CommandSnippet("OpenRLHF", keys + chat)]
        case "kto":
            return [_trl("KTOTrainer")]
        case "verl":
            return [CommandSnippet("veRL", f"data.train_files={data[0].name} data.prompt_key=prompt")]
    return []


def _trl(trainer: str) -> CommandSnippet:
    line = f"trainer = {trainer}(model=model, args=args, train_dataset=rows, processing_class=tokenizer)"
    return CommandSnippet("TRL", f"from trl import {trainer}\n\n{line}")
