"""Write the table of `autotune score` as JSONL or Parquet, in a working file that is renamed when complete."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from types import TracebackType
from typing import IO, Any, Protocol, Self

COLUMNS = (
    "line",
    "external_id",
    "completion_id",
    "model_id",
    "prompt",
    "response",
    "score",
    "confidence",
    "status",
    "error",
)
GROUP_ROWS, GROUP_BYTES = 10_000, 64 * 1024 * 1024
Row = dict[str, Any]


class OutputError(Exception):
    """The output cannot be written; the message says why."""


class Writer(Protocol):
    """Writes rows to an open file."""

    def write(self, rows: list[Row]) -> None:
        """Write more rows."""

    def finish(self) -> None:
        """Write the end of the table; the file itself stays open."""

    def abandon(self) -> None:
        """Release resources of a table that will not be used."""


class JSONLWriter:
    """Writes one JSON object for each row."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def write(self, rows: list[Row]) -> None:
        """Write more rows."""
        lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows]
        self.file.write("".join(lines).encode())

    def finish(self) -> None:
        """Do nothing: JSONL has no footer."""

    def abandon(self) -> None:
        """Do nothing: it holds no resources."""


class ParquetWriter:
    """Writes row groups whose borders depend only on the rows, so that equal rows make an equal file."""

    def __init__(self, file: IO[bytes]) -> None:
        pyarrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
        types = {"line": pyarrow.int64(), "score": pyarrow.float64(), "confidence": pyarrow.float64()}
        self.schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in COLUMNS])
        self.table = pyarrow.Table
        self.rows: list[Row] = []
        self.size = 0
        self.writer = parquet.ParquetWriter(file, self.schema)

    def write(self, rows: list[Row]) -> None:
        """Write more rows."""
        for row in rows:
            self.rows.append(row)
            self.size += len(row["response"]) + len(row["prompt"] or "")
            if len(self.rows) >= GROUP_ROWS or self.size >= GROUP_BYTES:
                self._group()

    def finish(self) -> None:
        """Write the last group and the footer."""
        if self.rows:
            self._group()
        self.writer.close()

    def abandon(self) -> None:
        """Close the writer while its file is open, and ignore its errors."""
        with contextlib.suppress(Exception):
            self.writer.close()

    def _group(self) -> None:
        self.writer.write_table(self.table.from_pylist(self.rows, schema=self.schema))
        self.rows, self.size = [], 0


def writer_for(path: str) -> type[JSONLWriter] | type[ParquetWriter]:
    """Return the writer for a file name. Raises OutputError for an unknown ending, and for Parquet without pyarrow."""
    if path.endswith((".jsonl", ".ndjson")):
        return JSONLWriter
    if not path.endswith(".parquet"):
        raise OutputError(f"{path}: the name must end in .parquet or .jsonl")
    try:
        importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise OutputError(
            "Parquet needs pyarrow: pip install 'autotune-sdk[parquet]', or write to a .jsonl file"
        ) from None
    return ParquetWriter


class Output:
    """A table that is being written: `with Output(path) as out: out.write(rows)`.

    After the block the file is in place; after an error, an older file is unchanged. The working file has a
    fixed name, so a file that remains from a crash is reused.
    """

    def __init__(self, path: str) -> None:
        self.path, kind = path, writer_for(path)
        folder, name = os.path.split(path)
        self.temporary = os.path.join(folder, f".{name}.part")
        self.file = _open_locked(self.temporary, path)
        self.file.truncate(0)
        self.writer: Writer = kind(self.file)

    def write(self, rows: list[Row]) -> None:
        """Write more rows, in the order of lines."""
        self.writer.write(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.writer.finish()
                self.file.flush()
                os.fsync(self.file.fileno())
                os.replace(self.temporary, self.path)
            else:
                self.writer.abandon()
                os.unlink(self.temporary)
        finally:
            self.file.close()


def _open_locked(temporary: str, path: str) -> IO[bytes]:
    """Open the working file, locked for this process if the system can. Raises OutputError."""
    while True:
        try:
            file = os.fdopen(os.open(temporary, os.O_RDWR | os.O_CREAT, 0o666), "wb")
        except OSError as exc:
            raise OutputError(f"{path} cannot be written: {exc.strerror}") from exc
        try:
            import fcntl
        except ImportError:
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(temporary)):
                return file
        except FileNotFoundError:
            pass  # another run renamed it between open and lock: open a new one
        except OSError:
            file.close()
            raise OutputError(f"another run is writing {path}") from None
        file.close()
