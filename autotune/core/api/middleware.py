"""Middleware of every request: its id, the trusted proxies, the limits on a body, headers, and errors outside views."""

import ipaddress
import logging
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from secrets import token_urlsafe

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from autotune.core import errors
from autotune.core.api import problems

API_PREFIX = "/api/"
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
FEATURES = ("camera", "geolocation", "microphone", "payment", "usb")  # of a device, which no page may use
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in FEATURES)
GetResponse = Callable[[HttpRequest], HttpResponse]
current_request_id: ContextVar[str] = ContextVar("current_request_id", default="-")


class RequestIdFilter(logging.Filter):
    """Adds the id of the current request to each log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id.get()
        return True


class RequestIdMiddleware:
    """Sets `X-Request-Id` on every response: the caller's, if it is well formed, else a new one."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        incoming_id = request.META.get("HTTP_X_REQUEST_ID", "")
        request.request_id = incoming_id if REQUEST_ID.fullmatch(incoming_id) else token_urlsafe(16)  # type: ignore[attr-defined]
        token = current_request_id.set(request.request_id)  # type: ignore[attr-defined]
        try:
            response = self.get_response(request)
        finally:
            current_request_id.reset(token)
        response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        return response


class TrustedProxyMiddleware:
    """Trusts `X-Forwarded-*` only from AUTOTUNE_TRUSTED_PROXIES, and drops these headers from any other client."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.networks = [ipaddress.ip_network(text) for text in settings.AUTOTUNE_TRUSTED_PROXIES]

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if self._trusted(request.META.get("REMOTE_ADDR", "")):
            if client := self._client(request.META.get("HTTP_X_FORWARDED_FOR", "")):
                request.META["REMOTE_ADDR"] = client
        else:
            for name in ("HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST"):
                request.META.pop(name, None)
        return self.get_response(request)

    def _trusted(self, address: str) -> bool:
        return within(address, self.networks)

    def _client(self, forwarded: str) -> str:
        """Return the nearest address that is not a trusted proxy, read from the right; '' if there is none."""
        for entry in reversed(forwarded.split(",")):
            address = entry.strip()
            if not self._trusted(address):
                return address if _address(address) else ""
        return ""


class HeadersMiddleware:
    """Denies pages the features of the device, and forbids other sites to embed them."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


class ProblemMiddleware:
    """Returns problem+json also for API errors that arise outside a DRF view."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exc: Exception) -> HttpResponse | None:
        error = problems.typed(exc)
        if error is None or not (request.path.startswith(API_PREFIX) or error.status == 503):
            return None
        return problems.answer(error, request)


class MethodMiddleware:
    """Rejects other methods on pages, because Django's views would treat them as GET. API views check their own."""

    METHODS = ("GET", "HEAD", "OPTIONS", "POST")

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in self.METHODS and not request.path.startswith(API_PREFIX):
            return HttpResponseNotAllowed(self.METHODS)
        return self.get_response(request)


class BodyMiddleware:
    """Rejects a body before any view reads it if its length is unknown, or it is too large or compressed."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(API_PREFIX) and (error := self._refusal(request)):
            response = problems.answer(error, request)
            response["Connection"] = "close"
            return response
        return self.get_response(request)

    def _refusal(self, request: HttpRequest) -> errors.AutotuneError | None:
        length = request.META.get("CONTENT_LENGTH") or ""
        if request.META.get("HTTP_TRANSFER_ENCODING"):  # it wins over a Content-Length beside it
            return errors.LengthRequired("Send the body with a Content-Length; chunked bodies are not accepted.")
        if length and not re.fullmatch(r"[0-9]{1,19}", length):
            return errors.Invalid("Content-Length is not a number.")
        if length and int(length) > settings.MAX_BODY_BYTES:
            return problems.too_large()
        if request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() != "identity":
            return errors.UnsupportedMedia("Send the body without Content-Encoding.")
        return None


def within(address: str, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    """Whether the text is an address in one of the networks."""
    ip = _address(address)
    return ip is not None and any(ip in network for network in networks)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address in the text, or None. An IPv4 address in IPv6 form is returned as IPv4."""
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip
