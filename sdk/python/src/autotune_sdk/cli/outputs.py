"""The table that `autotune score` writes: JSONL or Parquet, beside its place and renamed when whole."""

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
    """The output cannot be written; the text says why."""


class Writer(Protocol):
    """Writes rows to an open file."""

    def write(self, rows: list[Row]) -> None:
        """Some more rows."""

    def finish(self) -> None:
        """The end of the table; the file itself stays open."""

    def abandon(self) -> None:
        """The table will not be used."""


class JSONLWriter:
    """One JSON object for each row."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def write(self, rows: list[Row]) -> None:
        """Some more rows."""
        lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows]
        self.file.write("".join(lines).encode())

    def finish(self) -> None:
        """Nothing more is needed."""

    def abandon(self) -> None:
        """Nothing is held."""


class ParquetWriter:
    """Row groups whose borders depend on the rows alone, so that equal rows give an equal file."""

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
        """Some more rows."""
        for row in rows:
            self.rows.append(row)
            self.size += len(row["response"]) + len(row["prompt"] or "")
            if len(self.rows) >= GROUP_ROWS or self.size >= GROUP_BYTES:
                self._group()

    def finish(self) -> None:
        """The last group and the footer."""
        if self.rows:
            self._group()
        self.writer.close()

    def abandon(self) -> None:
        """Closes the writer while its file is open, whatever it says."""
        with contextlib.suppress(Exception):
            self.writer.close()

    def _group(self) -> None:
        self.writer.write_table(self.table.from_pylist(self.rows, schema=self.schema))
        self.rows, self.size = [], 0


def writer_for(path: str) -> type[JSONLWriter] | type[ParquetWriter]:
    """The writer for a file's name. Raises OutputError for another kind of name, and for Parquet without pyarrow."""
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
    """A table in the making: `with Output(path) as out: out.write(rows)`.

    Left without an error, the file is in its place; left by one, an older file is as it was. The working file has one
    name, so one that a crash left is taken over.
    """

    def __init__(self, path: str) -> None:
        self.path, kind = path, writer_for(path)
        folder, name = os.path.split(path)
        self.temporary = os.path.join(folder, f".{name}.part")
        self.file = _open_locked(self.temporary, path)
        self.file.truncate(0)
        self.writer: Writer = kind(self.file)

    def write(self, rows: list[Row]) -> None:
        """Some more rows, in the order of lines."""
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
    """The working file, for this process alone where the system can. Raises OutputError."""
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
            pass  # another run renamed it between our open and our lock: take a new one
        except OSError:
            file.close()
            raise OutputError(f"another run is writing {path}") from None
        file.close()
