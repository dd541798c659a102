"""Models of the audit log: who did what, to which object, from where, with what outcome; no bodies, no secrets."""

from uuid import UUID

from django.db import models

from autotune.access.models.keys import ApiKey
from autotune.access.models.organizations import Organization
from autotune.access.models.people import User
from autotune.core import ids

VIEW = ".read"  # ends the action of an event that only viewed something
INSTALLATION = UUID(int=0)  # the chain of events that belong to no organization, such as failed logins


class IsChange(models.Func):
    """Whether an action changes something, or tries to; every action other than a view does.

    The expression has no parameters, and compares no bare column, so that both engines recognize the
    condition of the partial indexes.
    """

    template = f"(length(replace(%(expressions)s, '{VIEW}', '')) = length(%(expressions)s))"
    output_field = models.BooleanField()


class AuditEvent(models.Model):
    """An act on record, written in the transaction of its work; sealing then adds its number and digest.

    chain       the organization's id, or INSTALLATION
    actor       as it is shown: an email, a grader's id, a command, `anonymous`
    action      `resource.verb`, such as `completions.create` or `session.login`
    object_id   public id of the object; '' for many or none
    objects_count  number of objects, if a request concerned several
    fields      names of the members that were set or changed, never their values
    route       the pattern of the address, never the address with its tokens
    status      of the HTTP response; null while the outcome is open, and if there was no request
    code        of the error, if there was one
    mac         keyed digest of all the above, made when it is written: a row that was inserted by hand has a wrong one
    number      place in its chain, from 1; null until sealed
    digest      keyed digest of the digest before it, the number and the mac
    """

    class Outcome(models.TextChoices):
        OPEN = "open"  # in progress, waiting for another server
        SUCCEEDED = "succeeded"
        REFUSED = "refused"
        FAILED = "failed"
        INTERRUPTED = "interrupted"  # was in progress and never ended

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    chain = models.UUIDField()
    organization = models.ForeignKey(
        Organization, null=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+"
    )
    user = models.ForeignKey(
        User, null=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+"
    )
    key = models.ForeignKey(
        ApiKey, null=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+"
    )
    actor = models.CharField(max_length=254)
    action = models.CharField(max_length=80)
    resource = models.CharField(max_length=32)
    object_id = models.CharField(max_length=64, blank=True)
    objects_count = models.PositiveIntegerField(null=True)
    fields = models.JSONField(null=True)
    method = models.CharField(max_length=8, blank=True)
    route = models.CharField(max_length=200, blank=True)
    address = models.GenericIPAddressField(null=True)
    outcome = models.CharField(max_length=11, choices=Outcome.choices)
    status = models.PositiveSmallIntegerField(null=True)
    code = models.CharField(max_length=64, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField()
    mac = models.BinaryField(max_length=32)
    number = models.BigIntegerField(null=True)
    digest = models.BinaryField(max_length=32, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "number"], condition=models.Q(number__isnull=False), name="access_audit_number"
            ),
            models.CheckConstraint(
                condition=models.Q(number=None, digest=None) | models.Q(number__isnull=False, digest__isnull=False),
                name="access_audit_sealed_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["chain", "id"], name="access_audit_by_chain"),
            models.Index(fields=["id"], condition=models.Q(number=None), name="access_audit_unsealed"),
            *(
                models.Index(fields=fields, condition=models.Q(IsChange("action")), name=name)
                for fields, name in (
                    (["chain", "id"], "access_audit_changes"),
                    (["chain", "actor", "id"], "access_audit_by_actor"),
                    (["chain", "object_id", "id"], "access_audit_by_object"),
                )
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.actor}"

    @property
    def public_id(self) -> str:
        return ids.encode("aud", self.pk)


class AuditChain(models.Model):
    """The head of a chain: the number and digest of the event that was sealed last."""

    chain = models.UUIDField(primary_key=True, editable=False)
    number = models.BigIntegerField()
    digest = models.BinaryField(max_length=32)
    sealed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.chain} {self.number}"
