"""Store what a command must remember between runs, in one JSON file that only its owner can read."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write(path: Path, text: str) -> None:
    """Write a private file (mode 0600) whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    draft.replace(path)


def read(path: Path) -> dict[str, Any]:
    """Return the stored object; an empty one if there is none or it cannot be read."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def keep(path: Path, members: Mapping[str, Any]) -> dict[str, Any]:
    """Add members to the stored object, and return all of it."""
    return replace(path, {**read(path), **members})


def replace(path: Path, members: Mapping[str, Any]) -> dict[str, Any]:
    """Store these members and no others."""
    write(path, json.dumps(members, indent=2) + "\n")
    return dict(members)
