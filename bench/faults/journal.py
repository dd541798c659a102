"""What a grader was asked and what it answered, line by line in a file: the book that the server cannot touch.

{"at": seconds, "event": "call", "grader": name, "request": id, "items": [completion ids]}
{"at": seconds, "event": "answer", ...the same, "items" those that got a valid score}
{"at": seconds, "event": "callback", ..., "kind": "good" | "forged" | "late", "status": of the reply, "code": of it}
{"at": seconds, "event": "refused", ..., "why": what was wrong with the request}
"""

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class Writer:
    """Appends whole lines, unbuffered: what is written stays when the process is killed."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(self, event: str, grader: str, request: str, items: Sequence[str] = (), **more) -> None:
        line = {"at": round(time.time(), 3), "event": event, "grader": grader, "request": request, "items": list(items)}
        os.write(self._fd, json.dumps(line | more, separators=(",", ":")).encode() + b"\n")


@dataclass
class Book:
    """The entries of one grader, counted."""

    requests: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # completion -> ids of its calls
    answered: Counter[str] = field(default_factory=Counter)  # completion -> valid scores given
    refused: Counter[str] = field(default_factory=Counter)  # why -> requests
    callbacks: list[dict] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # completion -> when it was asked


def read(paths: Iterable[Path], grader: str) -> Book:
    """The book of one grader; a last line that is cut off is left out."""
    book = Book()
    for path in paths:
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry["grader"] == grader:
                _enter(book, entry)
    return book


def _enter(book: Book, entry: dict) -> None:
    match entry["event"]:
        case "call":
            for item in entry["items"]:
                book.requests[item].add(entry["request"])
                book.times[item].append(entry["at"])
        case "answer":
            book.answered.update(entry["items"])
        case "refused":
            book.refused[entry["why"]] += 1
        case "callback":
            book.callbacks.append(entry)
            if entry["kind"] == "good" or (entry["kind"] == "late" and entry["status"] == 200):
                book.answered.update(entry["items"])  # whatever the reply: it may have been lost on its way
