"""What a data set says of itself."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from autotune.core import clock
from exports.reading import left_out
from exports.structure import Batch
from scores.results.summary import DistributionOut, PercentilesOut


@dataclass(slots=True)
class Facts:
    """Gathered while the rows go by: 8 octets a score are kept. The facts of parts add up to those of the whole."""

    exported_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    values: array = field(default_factory=lambda: array("d"))
    tasks: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    rows: int = 0
    left_out: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def noting(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches, each noted before it goes on."""
        for batch in batches:
            self.values.extend(batch.scores)
            self.tasks |= batch.tasks
            self.models |= batch.models
            self.rows += batch.rows
            self.versions |= batch.versions
            self.left_out += batch.left_out
            self.reasons.update(batch.reasons)
            yield batch

    def merge(self, other: "Facts") -> None:
        """Add those of another part."""
        self.values.extend(other.values)
        self.tasks |= other.tasks
        self.models |= other.models
        self.rows += other.rows
        self.versions |= other.versions
        self.left_out += other.left_out
        self.reasons.update(other.reasons)

    def as_json(self) -> dict[str, Any]:
        """The data set's metadata, as it is in answers, sidecars and files."""
        return {
            "exportedAt": clock.wire(self.exported_at),
            "taskIds": sorted(self.tasks),
            "modelIds": sorted(self.models),
            "totalRecords": self.rows,
            "leftOut": self.left_out,
            "leftOutByReason": left_out.by_reason(self.left_out, self.reasons),
            "systemPromptVersions": sorted(self.versions),
            "scoreDistribution": msgspec.to_builtins(distribution(self.values)),
        }


def distribution(values: array) -> DistributionOut | None:
    """The population's standard deviation, percentiles interpolated linearly; None without values."""
    import numpy as np  # on first use: a web process that exports nothing does not carry it

    if not values:
        return None
    scores = np.frombuffer(values)
    percentiles = [float(number) for number in np.percentile(scores, (25, 50, 75, 95))]
    return DistributionOut(
        float(scores.mean()),
        float(scores.std()),
        float(scores.min()),
        float(scores.max()),
        PercentilesOut(*percentiles),
    )
