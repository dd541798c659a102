"""Add the response headers that Django's own middleware does not set."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

POLICY = ", ".join(f"{feature}=()" for feature in ("camera", "geolocation", "microphone", "payment", "usb"))


class HeadersMiddleware:
    """Deny pages the features of the device, and forbid other sites to embed them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response
