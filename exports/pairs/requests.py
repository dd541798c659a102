"""The request body of preference pairs."""

from typing import Annotated, Literal

from msgspec import Meta

from autotune.core.api.operations import BodyStruct
from exports.requests import MAX_CAP, MAX_SEED
from scores.intake.requests import ModelId, Sources, TaskId
from scores.results.filters import Unit

MAX_SAMPLE = 10_000


class PairsRequest(BodyStruct):
    """`capPerPrompt`: without it `all` takes at most 1,000 pairs of a prompt, `random` takes one.

    `source`: without it, completions of telemetry and evaluations are left out. Held-out ones always are.
    `conversational`: also use conversations of several messages; each text is then a list of `{role, content}`.
    """

    task_id: TaskId
    min_score_delta: Unit
    sample_size: Annotated[int, Meta(ge=1, le=MAX_SAMPLE)]
    model_id: ModelId | None = None
    strategy: Literal["best_worst", "all", "random"] | None = None
    cap_per_prompt: Annotated[int, Meta(ge=1, le=MAX_CAP)] | None = None
    conversational: bool | None = None
    seed: Annotated[int, Meta(ge=0, le=MAX_SEED)] | None = None
    source: Sources | None = None
