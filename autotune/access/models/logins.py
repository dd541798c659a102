"""What proves that somebody is who they say: sessions of browsers, and the secrets of second factors."""

from typing import ClassVar
from uuid import UUID

from django.db import models
from django.utils import timezone

from autotune.access.models.audit import INSTALLATION
from autotune.access.models.people import User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedTextField


class WebSession(models.Model):
    """A browser's session (access/accounts/sessions.py). Who reads the table can neither take it over nor read it.

    key_digest     keyed digest of the session's key, which the cookie alone holds
    data           the session's members, encrypted under a key that is derived from the session's key
    user           who is logged in; null before the login, and while a second factor is asked for
    password_mark  their session's hash of then: with another password the session is dead
    address, agent where it was opened, and with what
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    key_digest = models.BinaryField(max_length=32, unique=True)
    data = models.BinaryField()
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="+")
    password_mark = models.CharField(max_length=64, blank=True)
    address = models.GenericIPAddressField(null=True)
    agent = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "session"

    def __str__(self) -> str:
        return f"{self.address} ({self.agent})"

    @property
    def public_id(self) -> str:
        return ids.encode("session", self.pk)


class SecondFactorSecret(models.Model):
    """A secret of a person's second factor. The row of django-allauth names it by its id; it holds none itself."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    secret = EncryptedTextField()
    created_at = models.DateTimeField(default=timezone.now)

    organization_id: ClassVar[UUID] = INSTALLATION  # whose data keys encrypt it: a person may be in many organizations

    def __str__(self) -> str:
        return f"of {self.user_id}"
