"""Format ids and grader versions as text, for many rows at once."""

from collections.abc import Collection, Sequence
from uuid import UUID

from autotune.core import ids
from autotune.core.connections import release
from exports.reading import rows
from graders.models import GraderVersion

MAX_KNOWN = 10_000


def public_ids(kind: str, values: Sequence[bytes]) -> list[bytes]:
    """Return `comp_01jd…` of ids (16 bytes each) that differ on every row: 26 digits of 5 bits after two zero bits."""
    import numpy as np  # imported on first use: a web process without exports saves the memory

    id_bytes = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), 16)
    bits = np.zeros((len(values), 26 * 5), np.uint8)
    bits[:, 2:] = np.unpackbits(id_bytes, axis=1)
    digits = bits.reshape(len(values), 26, 5) @ np.array([16, 8, 4, 2, 1], np.uint8)
    lead = f"{kind}_".encode()
    text, length = np.frombuffer(ids.ALPHABET.encode(), np.uint8)[digits].tobytes(), 26
    return [lead + text[start : start + length] for start in range(0, len(text), length)]


class LabelCache:
    """Caches values that repeat: the text of ids, the labels of grader versions."""

    def __init__(self) -> None:
        self._labels: dict[bytes, bytes] = {}
        self._texts: dict[tuple[str, bytes], bytes] = {}

    def ids(self, kind: str, values: Sequence[bytes | None]) -> list[bytes | None]:
        """Return the public ids of values that many rows share; None stays None."""
        ids_by_value: dict[bytes | None, bytes | None] = {None: None}
        for value in set(values) - {None}:
            ids_by_value[value] = self._text(kind, value)  # type: ignore[arg-type]
        return [ids_by_value[value] for value in values]

    def versions(self, values: Sequence[bytes | None]) -> list[bytes | None]:
        """Return the labels of grader versions."""
        self._learn({value for value in values if value is not None})
        return [self._labels.get(value) if value else None for value in values]

    def _text(self, kind: str, value: bytes) -> bytes:
        if (kind, value) not in self._texts:
            if len(self._texts) > MAX_KNOWN:
                self._texts.clear()
            self._texts[kind, value] = ids.encode(kind, UUID(bytes=value)).encode()
        return self._texts[kind, value]

    def _learn(self, versions: Collection[bytes]) -> None:
        if len(self._labels) > MAX_KNOWN:
            self._labels.clear()
        if unknown := set(versions) - self._labels.keys():
            grader_versions = GraderVersion.objects.filter(pk__in=[UUID(bytes=pk) for pk in unknown])
            self._labels.update(dict(rows.plain(grader_versions.values_list("pk", "label"))))
            release()
