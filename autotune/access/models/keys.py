"""The model of API keys."""

from typing import Any

from django.db import models

from autotune.access.models.organizations import Organization, Role
from autotune.access.models.people import User
from autotune.core import ids


class ApiKey(models.Model):
    """A key of one organization, with one role, created by one person. Only the SHA-256 of its text is stored.

    role         null if the role was deleted after the key had ended
    networks     the only address ranges from which it works; empty: from everywhere
    held         what its person's membership allows, if tokens.find has read it
    replaced_by  the key that replaced it in a rotation; both work until this one expires
    """

    class Kind(models.TextChoices):
        LIVE = "live"
        TEST = "test"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE)
    role = models.ForeignKey(Role, null=True, blank=True, on_delete=models.PROTECT)
    user = models.ForeignKey(User, on_delete=models.PROTECT)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=4, choices=Kind.choices, default=Kind.LIVE)
    digest = models.BinaryField(max_length=32, unique=True)
    last_four = models.CharField(max_length=4)
    networks = models.JSONField(default=list, blank=True)
    replaced_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, db_index=False, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    membership_grants: list[dict[str, Any]] | None

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} (…{self.last_four})"

    @property
    def public_id(self) -> str:
        return ids.encode("key", self.pk)
