"""Turn every exception of a reward call into the error to answer: a trainer gets JSON, whatever failed."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autotune.core.api import problems
from autotune.core.errors import AutotuneError
from scores.live.room import ClientLeft

logger = logging.getLogger(__name__)


@contextmanager
def caught(fail: Callable[[AutotuneError], object]) -> Iterator[None]:
    """Pass the error for an exception of the block to `fail`, and continue after the block.

    An exception that is none of ours is logged with its traceback. ClientLeft passes, since nobody reads an answer.
    """
    try:
        yield
    except ClientLeft:
        raise
    except Exception as exc:
        error = problems.typed(exc)
        if error is None:
            logger.error("unexpected error at a reward endpoint", exc_info=exc)
            error = AutotuneError("Something went wrong here. Quote the request id when you report it.")
        fail(error)
