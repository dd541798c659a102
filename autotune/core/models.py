"""Tables of the core: wrapped data keys, check values of master keys, re-encryption, and values that are damaged."""

from django.db import models

from autotune.core import ids


class DataKey(models.Model):
    """A wrapped AES-256 key of one organization and month (or its content-digest key, which never rotates).

    scope       the organization's id; no foreign key, since the core knows no organizations
    period      `YYYY-MM`, with a letter for a key that replaces a damaged one; or `digest`
    wrapped     the key, wrapped by the master key `wrapping_key` (keyproviders.py)
    retired_at  from then on it encrypts nothing new; it is dropped when no value uses it any more
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    scope = models.UUIDField()
    period = models.CharField(max_length=8)
    wrapping_key = models.CharField(max_length=64)
    wrapped = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "period"], condition=models.Q(retired_at=None), name="core_datakey_in_use"
            )
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.period}"


class MasterKey(models.Model):
    """A check value, by which Autotune recognizes a master key of this database (keychecks.py).

    id           of the key, as AUTOTUNE_ENCRYPTION_KEYS or the key provider names it
    check_value  random bytes, wrapped with the key
    """

    id = models.CharField(max_length=64, primary_key=True)
    check_value = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.id


class DamagedValue(models.Model):
    """An encrypted value that could not be decrypted when something read it (damage.py).

    table, column  its place; `core_datakey.wrapped` for a data key, which represents all values under it
    row            the row's id
    """

    table = models.CharField(max_length=64)
    column = models.CharField(max_length=64)
    row = models.UUIDField()
    seen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["table", "column", "row"], name="core_damagedvalue_once")]

    def __str__(self) -> str:
        return f"{self.table}.{self.column} {self.row}"


class Reencryption(models.Model):
    """The progress of re-encryption in one encrypted column (reencryption.py).

    Workers read the column in passes, until a pass that began after `settled_at` finds nothing.

    column        such as `tasks.Completion.prompt`
    number        the number of the pass, from 1
    cursor        the last row that this pass has read, as text; '' at its beginning
    done, total   rows that this pass has read, and how many there were when it began
    stale         values under retired keys that this pass met
    unreadable    those of them that could not be decrypted, and stay as they are
    rewritten     values re-encrypted in all passes
    settled_at    from then on no process writes under a retired key any more
    due_at        when the pass may begin or continue
    leased_until  until when a worker holds the column
    """

    column = models.CharField(max_length=200, primary_key=True)
    number = models.PositiveIntegerField(default=1)
    cursor = models.CharField(max_length=40, blank=True)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    stale = models.BigIntegerField(default=0)
    unreadable = models.BigIntegerField(default=0)
    rewritten = models.BigIntegerField(default=0)
    settled_at = models.DateTimeField()
    due_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "re-encryption"

    def __str__(self) -> str:
        return self.column
