"""Typed errors of the API. Capabilities raise them; only `problems.py` converts them to responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one member of the input.

    pointer  JSON pointer into the body ('' is the whole body), or `?name` for a query parameter
    code     stable and documented (docs/api/errors.md)
    """

    pointer: str
    code: str
    detail: str


class AutotuneError(Exception):
    """An error with a stable code and a status. `detail` is one sentence that names what to change.

    current  a Struct of the present object, if another request changed it first
    """

    status = 500
    code = "internal_error"
    title = "Internal error"

    def __init__(
        self,
        detail: str = "",
        *,
        code: str | None = None,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        current: object = None,
    ) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.code = code or self.code
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.current = current


class Invalid(AutotuneError):
    """The request is invalid; `errors` lists the members at fault."""

    status, code, title = 400, "invalid_request", "Invalid request"

    @classmethod
    def field(cls, pointer: str, code: str, detail: str) -> "Invalid":
        """Return the error of a single member, which is also the detail of the whole."""
        return cls(f"{pointer or 'body'}: {detail}", errors=[FieldError(pointer, code, detail)])


class Unauthenticated(AutotuneError):
    status, code, title = 401, "unauthenticated", "Authentication required"


class Forbidden(AutotuneError):
    status, code, title = 403, "forbidden", "Not allowed"


class NotFound(AutotuneError):
    status, code, title = 404, "not_found", "Not found"

    @classmethod
    def field(cls, pointer: str, what: str) -> "NotFound":
        """Return the error of an id in the body or query that names nothing the caller may see."""
        detail = f"There is no such {what}."
        return cls(f"{pointer}: {detail}", errors=[FieldError(pointer, "not_found", detail)])


class MethodNotAllowed(AutotuneError):
    status, code, title = 405, "method_not_allowed", "Method not allowed"


class NotAcceptable(AutotuneError):
    status, code, title = 406, "not_acceptable", "Not acceptable"


class RequestTimeout(AutotuneError):
    status, code, title = 408, "request_timeout", "Request timeout"


class Conflict(AutotuneError):
    status, code, title = 409, "conflict", "Conflict"


class Unreadable(Conflict):
    """The operation needs a stored value that cannot be decrypted. A retry does not help."""

    code, title = "unreadable", "Stored value cannot be read"

    def __init__(
        self,
        detail: str = "This needs a stored value that cannot be decrypted. Replace it, or report it to the operator.",
        *,
        code: str | None = None,
    ) -> None:
        super().__init__(detail, code=code)


class Gone(AutotuneError):
    """The object existed and is no longer available; each use has its own code."""

    status, title = 410, "Gone"


class LengthRequired(AutotuneError):
    status, code, title = 411, "length_required", "Content-Length required"


class TooLarge(AutotuneError):
    status, code, title = 413, "body_too_large", "Body too large"


class AddressTooLong(AutotuneError):
    status, code, title = 414, "address_too_long", "Address too long"


class HeadersTooLarge(AutotuneError):
    status, code, title = 431, "headers_too_large", "Headers too large"


class UnsupportedMedia(AutotuneError):
    status, code, title = 415, "unsupported_media_type", "Unsupported media type"


class ExpectationFailed(AutotuneError):
    status, code, title = 417, "expectation_failed", "Expectation failed"


class Unprocessable(AutotuneError):
    """The request is well formed, but contradicts an earlier one; each use has its own code."""

    status, title = 422, "Unprocessable"


class TooManyRequests(AutotuneError):
    status, code, title = 429, "too_many_requests", "Too many requests"


class NotImplementedHere(AutotuneError):
    status, code, title = 501, "not_implemented", "Not implemented"


class VersionNotSupported(AutotuneError):
    status, code, title = 505, "http_version_not_supported", "HTTP version not supported"


class Unavailable(AutotuneError):
    """The database is unavailable. A retry may succeed."""

    status, code, title = 503, "unavailable", "Service unavailable"

    def __init__(self, detail: str = "The database is not reachable. Try again.", **more: object) -> None:
        super().__init__(detail, headers={"Retry-After": "5"})
