"""Load the sample completions that the repository ships; `tools/demo_completions.py` writes them."""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("completions.jsonl")
MEMBERS = {
    "externalId": "external_id",
    "modelId": "model_id",
    "prompt": "prompt",
    "response": "response",
    "metadata": "metadata",
}


def load() -> list[dict[str, Any]]:
    """Return the samples in the form that the client's `submit_batch` takes."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [{MEMBERS[name]: value for name, value in json.loads(line).items()} for line in lines]


def models(samples: list[dict[str, Any]]) -> list[str]:
    """Return the models that answered, in order of appearance."""
    return list(dict.fromkeys(sample["model_id"] for sample in samples))
