"""Watch a streamed response: log how it ended, and break the connection if it failed."""

import logging
from collections.abc import Iterable, Iterator

from django.http import HttpRequest


def watched(pieces: Iterable[bytes], subject: str, request: HttpRequest, logger: logging.Logger) -> Iterator[bytes]:
    """Yield the pieces of a body, and log an error of theirs or that the client has left.

    subject  what is streamed, for the log: "the export"
    request  the request that it answers
    logger   of the module that makes the pieces

    An error is raised again, so that the connection breaks before the end of the body: the client then knows that the
    body is not whole.
    """
    size, request_id = 0, getattr(request, "request_id", "-")
    try:
        for piece in pieces:
            size += len(piece)
            yield piece
    except GeneratorExit:
        logger.info("the client closed %s after %d bytes (request %s)", subject, size, request_id)
        raise
    except Exception:
        logger.exception("%s failed after %d bytes (request %s)", subject, size, request_id)
        raise
    logger.info("%s ended after %d bytes (request %s)", subject, size, request_id)
