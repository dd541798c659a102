"""The HTTP client of single sign-on: it offers django-allauth the interface of `requests` on the outbound engine."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import quote_plus, urlencode

from allauth.socialaccount.providers.oauth2.client import OAuth2Error

from autotune.core.outbound import engine
from autotune.core.outbound.calls import OutboundRequest, OutboundResponse

TIMEOUT_MS = 10_000
MAX_BODY = 1 << 20


class ExchangeResponse:
    """A response in the form that django-allauth reads."""

    def __init__(self, response: OutboundResponse) -> None:
        self.status_code = response.status
        self.headers = {name.lower(): value for name, value in response.headers}
        self.headers.setdefault("content-type", "")
        self.content = response.body

    @property
    def ok(self) -> bool:
        return self.status_code < 400

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        try:
            return json.loads(self.content)
        except ValueError as exc:
            raise OAuth2Error("The provider's response is not valid JSON.") from exc

    def raise_for_status(self) -> None:
        if not self.ok:
            raise OAuth2Error(f"The provider returned HTTP {self.status_code}.")


class OutboundSession:
    """A replacement for `requests.Session` that follows no redirects.

    It calls private addresses only if AUTOTUNE_OUTBOUND_ALLOW_IDENTITY allows them.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def get(self, url: str, **more: Any) -> ExchangeResponse:
        return self.request("GET", url, **more)

    def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        data: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
    ) -> ExchangeResponse:
        """Send one request and return its response.

        raises OAuth2Error if there is no response: django-allauth then shows its error page
        """
        sent = {"Accept": "application/json", **(headers or {})}
        if auth is not None:
            pair = f"{quote_plus(auth.username)}:{quote_plus(auth.password)}".encode()  # RFC 6749, 2.3.1
            sent["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        body = b""
        if data is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(data).encode()
        if params:
            url += ("&" if "?" in url else "?") + urlencode(params)
        outbound = OutboundRequest(
            method, url, tuple(sent.items()), body, connect_timeout_ms=3_000, timeout_ms=TIMEOUT_MS, max_body=MAX_BODY
        )
        try:
            return ExchangeResponse(engine.fetch(outbound, "identity"))
        except engine.OutboundError as exc:
            raise OAuth2Error(f"The request to the provider failed: {exc.code}.") from exc
