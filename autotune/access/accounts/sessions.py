"""Browser sessions: the session engine of SESSION_ENGINE, and functions to list and end sessions.

Only the cookie contains the session's key. The row is found by a keyed digest of the key, and its data is encrypted
under another one. A dump of the database, even with the master keys, therefore opens no session and reveals no data.
Both digests also depend on SECRET_KEY, so that write access to the table is not enough to create a session.
"""

import os
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import CreateError, SessionBase, UpdateError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from autotune.access.models import User, WebSession
from autotune.core.crypto import encryption

OPENED: Final = "opened"  # member of a session: {address, agent, at} of the login
_NAME: Final = "autotune.sessions.name"
_DATA: Final = "autotune.sessions.data"
_PLACE: Final = encryption.place("access_websession", "data")


class SessionStore(SessionBase):
    """A session as Django's middleware expects it. `session_key` is the value of the cookie."""

    def load(self) -> dict[str, Any]:
        """Return the session's data; if the session is not live, drop its key and return nothing."""
        if self.session_key:
            name = _name(self.session_key)
            rows = WebSession.objects.filter(key_digest=name, expires_at__gt=timezone.now())
            sealed = rows.values_list("data", flat=True).first()
            if sealed is not None and (members := self._unseal(name, bytes(sealed))) is not None:
                return members
        self._session_key = None
        return {}

    def exists(self, session_key: str) -> bool:
        return WebSession.objects.filter(key_digest=_name(session_key)).exists()

    def create(self) -> None:
        """Create a session with a new key."""
        while True:
            self._session_key = self._get_new_session_key()  # type: ignore[attr-defined]
            try:
                self.save(must_create=True)
            except CreateError:
                continue
            self.modified = True
            return

    def save(self, must_create: bool = False) -> None:
        """Write the session.

        raises  CreateError if it must be new and is not, UpdateError if another request has ended it
        """
        if self.session_key is None:
            return self.create()
        members = self._get_session(no_load=must_create)  # type: ignore[attr-defined]
        name = _name(self.session_key)
        row = {"data": self._seal(name, members), "expires_at": self.get_expiry_date(), **_shown(members)}
        if not must_create:
            if not WebSession.objects.filter(key_digest=name).update(**row):
                raise UpdateError
            return None
        try:
            with transaction.atomic():
                WebSession.objects.create(key_digest=name, **row)
        except IntegrityError as exc:
            raise CreateError from exc
        return None

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            WebSession.objects.filter(key_digest=_name(key)).delete()

    @classmethod
    def clear_expired(cls) -> None:
        WebSession.objects.filter(expires_at__lte=timezone.now()).delete()

    def _seal(self, name: bytes, members: dict[str, Any]) -> bytes:
        nonce = os.urandom(encryption.NONCE_BYTES)
        return nonce + self._cipher().encrypt(nonce, self.serializer().dumps(members), _PLACE + name)

    def _unseal(self, name: bytes, sealed: bytes) -> dict[str, Any] | None:
        """Decrypt a session's data; None if it was altered or belongs to another session."""
        nonce, rest = sealed[: encryption.NONCE_BYTES], sealed[encryption.NONCE_BYTES :]
        try:
            members: dict[str, Any] = self.serializer().loads(self._cipher().decrypt(nonce, rest, _PLACE + name))
        except (InvalidTag, ValueError):
            return None
        return members

    def _cipher(self) -> AESGCM:
        return AESGCM(salted_hmac(_DATA, str(self.session_key), algorithm="sha256").digest())


def opened(request: HttpRequest, address: str) -> None:
    """Note in a new login's session the caller's address and browser."""
    agent = " ".join(request.headers.get("User-Agent", "").replace("\0", "").split())[:200]
    request.session[OPENED] = {"address": address or None, "agent": agent, "at": timezone.now().isoformat()}


def of(user: User) -> QuerySet[WebSession]:
    """Return a person's live sessions, the newest first."""
    mark = user.get_session_auth_hash()
    alive = WebSession.objects.filter(user=user, auth_hash=mark, expires_at__gt=timezone.now())
    return alive.defer("data").order_by("-created_at", "-pk")


def others(request: HttpRequest, user: User) -> QuerySet[WebSession]:
    """Return all of a person's sessions except the request's own, dead ones too."""
    return WebSession.objects.filter(user=user).exclude(key_digest=current(request))


def current(request: HttpRequest) -> bytes:
    """Return the digest by which the row of the request's session is found."""
    return _name(request.session.session_key or "")


def _name(key: str) -> bytes:
    return salted_hmac(_NAME, key, algorithm="sha256").digest()


def _shown(members: dict[str, Any]) -> dict[str, Any]:
    """Return the columns by which sessions are listed. They play no part in authentication."""
    seen = members.get(OPENED) or {}
    user = members.get(SESSION_KEY)
    return {
        "user_id": UUID(user) if user else None,
        "auth_hash": members.get(HASH_SESSION_KEY, ""),
        "address": seen.get("address"),
        "user_agent": seen.get("agent", ""),
        **({"created_at": datetime.fromisoformat(seen["at"])} if seen else {}),
    }
