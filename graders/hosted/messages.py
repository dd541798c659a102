"""What a process and its children say to each other.

Work is pickled: a child trusts its parent. Replies are MessagePack that the parent checks; it never unpickles them.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct

from graders.verdicts import Failure, GraderItem, GraderOptions, Verdict

MAX_REPLY: Final = 1 << 20  # bytes


class Judge(Struct, frozen=True):
    """What judges items in a child.

    function  "package.module:name" of a function that takes (item, settings, options) and returns a Verdict, or a
              Failure if the item cannot be judged
    settings  passed to the function as it is
    """

    function: str
    settings: dict[str, Any] = {}


class ChildWork(Struct, frozen=True):
    """Items to judge, in order. `cpu_s`: CPU seconds after which the system ends a child that works on one item."""

    judge: Judge
    options: GraderOptions
    cpu_s: float
    items: list[GraderItem]


class ChildReply(Struct, frozen=True, omit_defaults=True):
    """A child's reply: ready for the first item (neither verdict nor failure), or the result of the next item.

    is_last  the child ends after this reply
    """

    verdict: Verdict | None = None
    failure: Failure | None = None
    is_last: bool = False


encode = msgspec.msgpack.encode
read_reply = msgspec.msgpack.Decoder(ChildReply).decode
