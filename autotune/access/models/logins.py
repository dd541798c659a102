"""Models of browser sessions and of the secrets of second factors."""

from typing import ClassVar
from uuid import UUID

from django.db import models
from django.utils import timezone

from autotune.access.models.audit import INSTALLATION
from autotune.access.models.people import User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedTextField


class WebSession(models.Model):
    """A browser's session (access/accounts/sessions.py). A reader of the table can neither use nor decrypt it.

    key_digest     keyed digest of the session's key, which only the cookie contains
    data           the session's members, encrypted under a key that is derived from the session's key
    user           the logged-in person; null before the login, and until the second factor is entered
    auth_hash      Django's hash of the password at the login: another password ends the session
    address, user_agent  IP address and browser of the login
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    key_digest = models.BinaryField(max_length=32, unique=True)
    data = models.BinaryField()
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    auth_hash = models.CharField(max_length=64, blank=True)
    address = models.GenericIPAddressField(null=True)
    user_agent = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "session"

    def __str__(self) -> str:
        return f"{self.address} ({self.user_agent})"

    @property
    def public_id(self) -> str:
        return ids.encode("session", self.pk)


class SecondFactorSecret(models.Model):
    """A secret of a person's second factor. The row of django-allauth contains only the id of this one."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    secret = EncryptedTextField()
    created_at = models.DateTimeField(default=timezone.now)

    organization_id: ClassVar[UUID] = INSTALLATION  # whose data keys encrypt it; people may be in several organizations

    def __str__(self) -> str:
        return f"of {self.user_id}"
