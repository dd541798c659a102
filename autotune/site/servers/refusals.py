"""Build the problem answers to requests that the servers refuse before a view sees them."""

from typing import Final

from gunicorn.http import errors as wire

from autotune.core import errors
from autotune.core.api import problems
from autotune.core.errors import AutotuneError

MALFORMED: Final = "The request is not well-formed HTTP/1.1."
NO_CODING: Final = "Send the body with a Content-Length and without Transfer-Encoding."
LATE: Final = (errors.RequestTimeout, "The request did not arrive in time.")
CROWDED: Final = (errors.Unavailable, "The server has too many connections. Try again.")
_FAULTS_OF_THE_CLIENT: Final = (
    *(wire.InvalidRequestLine, wire.InvalidRequestMethod, wire.InvalidHeader, wire.InvalidHeaderName),
    *(wire.ObsoleteFolding, wire.InvalidChunkSize, wire.ChunkMissingTerminator, wire.InvalidChunkExtension),
    *(wire.InvalidProxyLine, wire.InvalidProxyHeader, wire.ForbiddenProxyRequest, wire.InvalidSchemeHeaders),
    wire.InvalidH2CPreface,
)
_FAULTS_OF_THE_APPLICATION: Final = (wire.InvalidResponseHeader, wire.InvalidResponseHeaderName)


def error_of(exc: BaseException) -> AutotuneError | None:
    """Return the error for an exception of gunicorn's parser; None if the client is not at fault."""
    if isinstance(exc, _FAULTS_OF_THE_APPLICATION):
        return None
    if isinstance(exc, wire.LimitRequestLine):
        return errors.AddressTooLong("Path and query are longer than the server accepts. Shorten or remove a filter.")
    if isinstance(exc, wire.LimitRequestHeaders):
        return errors.HeadersTooLarge("A header is longer than the server accepts, or there are too many headers.")
    if isinstance(exc, wire.InvalidHTTPVersion):
        return errors.VersionNotSupported("Send the request as HTTP/1.1.")
    if isinstance(exc, wire.UnsupportedTransferCoding):
        return errors.NotImplementedHere(NO_CODING)
    if isinstance(exc, wire.ExpectationFailed):
        return errors.ExpectationFailed("The server supports only the expectation 100-continue.")
    return errors.Invalid(MALFORMED) if isinstance(exc, _FAULTS_OF_THE_CLIENT) else None


def error_with(status: int) -> AutotuneError:
    """Return the error for the status with which h11 refuses a request."""
    if status == 431:
        return errors.HeadersTooLarge("The address and headers are longer than the server accepts.")
    if status == 501:
        return errors.NotImplementedHere(NO_CODING)
    return errors.Invalid(MALFORMED)


def unexpected() -> AutotuneError:
    """Return the error for a fault of the server itself."""
    return AutotuneError("Something went wrong here. Report it with the time at which it happened.")


def closing_answer(error: AutotuneError) -> bytes:
    """Return a whole HTTP/1.1 response that carries the problem and ends the connection."""
    answer = problems.answer(error, None)
    headers = {"Connection": "close", "Content-Length": len(answer.content), **dict(answer.items())}
    lines = [f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + answer.content
