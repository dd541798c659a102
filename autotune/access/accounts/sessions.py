"""Sessions of browsers: the engine of SESSION_ENGINE, and the lists and ends of them.

The session's key stands in the cookie alone. Its row is found by a keyed digest of it, and what the session holds is
encrypted under another one: a dump of the database, with the master keys too, opens no session and shows nothing that
is in one. Both depend on SECRET_KEY as well: who can write to the table, and has chosen a key, makes no session.
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
    """A session as Django's middleware takes it. `session_key` is what the cookie holds."""

    def load(self) -> dict[str, Any]:
        """What the session holds; without a live one nothing, and its key counts for nothing."""
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
        """Begin with a new key."""
        while True:
            self._session_key = self._get_new_session_key()  # type: ignore[attr-defined]
            try:
                self.save(must_create=True)
            except CreateError:
                continue
            self.modified = True
            return

    def save(self, must_create: bool = False) -> None:
        """Write it.

        raises  CreateError if it must be new and is not, UpdateError if it was ended meanwhile
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
        """None for what was altered, or belongs to another session."""
        nonce, rest = sealed[: encryption.NONCE_BYTES], sealed[encryption.NONCE_BYTES :]
        try:
            members: dict[str, Any] = self.serializer().loads(self._cipher().decrypt(nonce, rest, _PLACE + name))
        except (InvalidTag, ValueError):
            return None
        return members

    def _cipher(self) -> AESGCM:
        return AESGCM(salted_hmac(_DATA, str(self.session_key), algorithm="sha256").digest())


def opened(request: HttpRequest, address: str) -> None:
    """Note in the session of a login from where it came, and with what."""
    agent = " ".join(request.headers.get("User-Agent", "").replace("\0", "").split())[:200]
    request.session[OPENED] = {"address": address or None, "agent": agent, "at": timezone.now().isoformat()}


def of(user: User) -> QuerySet[WebSession]:
    """A person's sessions that are alive, the newest first."""
    mark = user.get_session_auth_hash()
    alive = WebSession.objects.filter(user=user, password_mark=mark, expires_at__gt=timezone.now())
    return alive.defer("data").order_by("-created_at", "-pk")


def others(request: HttpRequest, user: User) -> QuerySet[WebSession]:
    """A person's sessions but the one at hand, dead ones too."""
    return WebSession.objects.filter(user=user).exclude(key_digest=current(request))


def current(request: HttpRequest) -> bytes:
    """By what the row of this request's session is known."""
    return _name(request.session.session_key or "")


def _name(key: str) -> bytes:
    return salted_hmac(_NAME, key, algorithm="sha256").digest()


def _shown(members: dict[str, Any]) -> dict[str, Any]:
    """The columns by which sessions are listed. Nobody is let in by them."""
    seen = members.get(OPENED) or {}
    user = members.get(SESSION_KEY)
    return {
        "user_id": UUID(user) if user else None,
        "password_mark": members.get(HASH_SESSION_KEY, ""),
        "address": seen.get("address"),
        "agent": seen.get("agent", ""),
        **({"created_at": datetime.fromisoformat(seen["at"])} if seen else {}),
    }
