"""Compute the reward of a completion: its panel's scores as one number (docs/scoring.md, "Rewards")."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tasks.states import Aggregation

NO_SCORE = "no_score"
PANEL_INCOMPLETE = "panel_incomplete"


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """One scoring grader's score: value and confidence in [0, 1], weight in [0, 1]."""

    value: float
    confidence: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class RewardResult:
    """A reward, or the code that says why there is none.

    used    scores that went into the value
    failed  scoring runs without a score
    """

    value: float | None
    confidence: float | None
    used: int
    failed: int
    error_code: str = ""


def reward(
    scores: Sequence[WeightedScore], *, failed: int, aggregation: str, error_code: str = NO_SCORE
) -> RewardResult:
    """Compute the reward of one completion whose scoring runs are all final.

    failed      number of its scoring runs without a score
    error_code  code of the failure if no run has a score
    """
    if not scores:
        return RewardResult(None, None, 0, failed, error_code or NO_SCORE)
    if failed and aggregation == Aggregation.ALL_OR_NOTHING:
        return RewardResult(None, None, 0, failed, PANEL_INCOMPLETE)
    confidence = min(score.confidence for score in scores)
    return RewardResult(aggregate(scores, aggregation), confidence, len(scores), failed)


def aggregate(scores: Sequence[WeightedScore], aggregation: str) -> float:
    """Combine one or more scores into one value in [0, 1].

    raises ValueError if there are none, or the aggregation is unknown
    """
    if not scores:
        raise ValueError("there is nothing to aggregate")
    values = [score.value for score in scores]
    match aggregation:
        case Aggregation.MEAN:
            return _weighted_mean(values, [score.weight for score in scores])
        case Aggregation.CONFIDENCE_WEIGHTED:
            weights = [Fraction(score.weight) * Fraction(score.confidence) for score in scores]
            return _weighted_mean(values, weights if any(weights) else [score.weight for score in scores])
        case Aggregation.MEDIAN:
            return _weighted_median(scores)
        case Aggregation.MIN:
            return min(values)
        case Aggregation.MAX:
            return max(values)
        case Aggregation.ALL_OR_NOTHING:
            return 1.0 if all(value == 1 for value in values) else 0.0
    raise ValueError(f"unknown aggregation {aggregation!r}")


def _weighted_mean(values: Sequence[float], weights: Sequence[float | Fraction]) -> float:
    """Σwv / Σw, kept within the values' range against rounding; equal weights where all are 0."""
    if len(values) == 1:
        return values[0]
    shares = _shares(weights)
    mean = sum(share * value for share, value in zip(shares, values, strict=True)) / sum(shares)
    return min(max(mean, min(values)), max(values))


def _shares(weights: Sequence[float | Fraction]) -> list[float]:
    """The weights as shares of the greatest weight, so that weights that are all tiny still count in full."""
    greatest = max(weights)
    if not greatest:
        return [1.0] * len(weights)
    return [float(Fraction(weight) / Fraction(greatest)) for weight in weights]


def _weighted_median(scores: Sequence[WeightedScore]) -> float:
    """The value at which half of the weight is reached; the middle of two where it is reached exactly between them."""
    ordered = sorted(scores, key=lambda score: score.value)
    weights = _shares([score.weight for score in ordered])
    half, reached = sum(weights) / 2, 0.0
    for index, weight in enumerate(weights):
        reached += weight
        if reached > half and abs(reached - half) > 1e-12:
            return ordered[index].value
        if abs(reached - half) <= 1e-12:
            following = next((i for i in range(index + 1, len(ordered)) if weights[i]), index)
            return (ordered[index].value + ordered[following].value) / 2
    return ordered[-1].value
