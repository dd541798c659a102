"""Tables of the core: the wrapped data keys."""

from django.db import models

from autotune.core import ids


class DataKey(models.Model):
    """A wrapped AES-256 key of one organization and month (or its content-digest key, which never rotates).

    scope   the organization's id; no foreign key, since the core knows no organizations
    period  `YYYY-MM`, or `digest`
    wrapped nonce and AES-256-GCM ciphertext under the key `wrapping_key` of AUTOTUNE_ENCRYPTION_KEYS
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    scope = models.UUIDField()
    period = models.CharField(max_length=8)
    wrapping_key = models.CharField(max_length=64)
    wrapped = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "period"], name="core_datakey_scope_period")]

    def __str__(self) -> str:
        return f"{self.scope} {self.period}"
