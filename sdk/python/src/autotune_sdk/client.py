"""The client object, which calls one server with one API key."""

from __future__ import annotations

import os
import re
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from ._transport import Transport
from .errors import ConfigurationError
from .resources.access import ApiKeys, Members, Roles
from .resources.completions import Completions
from .resources.exports import Exports
from .resources.graders import Graders
from .resources.records import AuditEvents, Erasures, LegalHolds
from .resources.reviews import Reviews
from .resources.rewards import Preferences, RewardEndpoints, Rewards
from .resources.scores import Scores
from .resources.tasks import Tasks
from .resources.webhooks import Webhooks
from .resources.workflow_runs import WorkflowRuns

DEFAULT_BASE_URL = "http://localhost:8000"
API_PATH = "/api/v1"
KEY = re.compile(r"[!-~]+")


class AutotuneClient:
    """Calls one Autotune server with one API key.

    api_key      default: AUTOTUNE_API_KEY
    base_url     the server's address, with or without /api/v1; default: AUTOTUNE_BASE_URL, else http://localhost:8000
    timeout_s    seconds without a response after which an attempt fails (long polls add their waiting time)
    max_retries  attempts after the first, on 429, 502, 503, 504 and lost connections, if repeating is safe
    raises       ConfigurationError without a key, or with a key or address that cannot work
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 4,
    ) -> None:
        key = api_key if api_key is not None else os.environ.get("AUTOTUNE_API_KEY", "")
        if not key:
            raise ConfigurationError("no API key: pass api_key or set AUTOTUNE_API_KEY")
        if not KEY.fullmatch(key):
            raise ConfigurationError("the API key contains a space or a character that no key has; copy it again")
        self.base_url = _clean(base_url or os.environ.get("AUTOTUNE_BASE_URL") or DEFAULT_BASE_URL)
        self._transport = Transport(key, self.base_url + API_PATH, timeout_s, max_retries)
        self.tasks = Tasks(self._transport)
        self.completions = Completions(self._transport)
        self.scores = Scores(self._transport)
        self.exports = Exports(self._transport)
        self.rewards = Rewards(self._transport)
        self.reward_endpoints = RewardEndpoints(self._transport)
        self.preference_pairs = Preferences(self._transport)
        self.graders = Graders(self._transport)
        self.reviews = Reviews(self._transport)
        self.workflow_runs = WorkflowRuns(self._transport)
        self.webhooks = Webhooks(self._transport)
        self.api_keys = ApiKeys(self._transport)
        self.members = Members(self._transport)
        self.roles = Roles(self._transport)
        self.audit_events = AuditEvents(self._transport)
        self.erasures = Erasures(self._transport)
        self.legal_holds = LegalHolds(self._transport)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"AutotuneClient(base_url={self.base_url!r})"


def _clean(url: str) -> str:
    """Return the server's address without /api/v1 and without a final slash."""
    try:
        parts = urlsplit(url)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        raise ConfigurationError("base_url is not an http or https address") from None
    if wrong or parts.username is not None or parts.query or parts.fragment:
        raise ConfigurationError("base_url must be an http or https address without user name, query and fragment")
    return url.rstrip("/").removesuffix(API_PATH).rstrip("/")
