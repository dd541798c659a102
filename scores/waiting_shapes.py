"""What goes out about the reason for which something has no score yet."""

from autotune.core.api import ApiStruct
from scores.states import WaitingReason


class WaitingForOut(ApiStruct):
    """Why there is no score yet. `until`: when the reason ends by itself, null where that is not known."""

    reason: WaitingReason
    until: str | None
    detail: str
