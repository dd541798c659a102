"""The API shape of the reason why there is no score yet."""

from autotune.core.api.operations import ApiStruct
from scores.states import WaitingReason


class WaitingForOut(ApiStruct):
    """Why there is no score yet. `until`: when the reason ends by itself; null if unknown."""

    reason: WaitingReason
    until: str | None
    detail: str
