"""The metadata that describes a data set: counts, tasks, models and the score distribution."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from autotune.core import clock
from exports.reading import left_out
from exports.structure import RowBatch
from scores.results.summary import DistributionOut, PercentilesOut


@dataclass(slots=True)
class ExportFacts:
    """Facts collected while rows are written, with 8 bytes kept for each score. Facts of parts can be added up."""

    exported_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    values: array = field(default_factory=lambda: array("d"))
    tasks: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    rows: int = 0
    left_out: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def noting(self, batches: Iterable[RowBatch]) -> Iterator[RowBatch]:
        """Yield the batches, and record the facts of each first."""
        for batch in batches:
            self.values.extend(batch.scores)
            self.tasks |= batch.tasks
            self.models |= batch.models
            self.rows += batch.rows
            self.versions |= batch.versions
            self.left_out += batch.left_out
            self.reasons.update(batch.reasons)
            yield batch

    def merge(self, other: "ExportFacts") -> None:
        """Add the facts of another part."""
        self.values.extend(other.values)
        self.tasks |= other.tasks
        self.models |= other.models
        self.rows += other.rows
        self.versions |= other.versions
        self.left_out += other.left_out
        self.reasons.update(other.reasons)

    def as_json(self) -> dict[str, Any]:
        """Return the data set's metadata as responses, sidecar files and data files contain it."""
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
    """Return the distribution: population standard deviation and linear percentiles; None without values."""
    import numpy as np  # imported on first use: a web process without exports saves the memory

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
