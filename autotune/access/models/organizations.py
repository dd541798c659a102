"""Models of organizations, roles and memberships."""

from django.db import models

from autotune.access.models.people import User
from autotune.core import ids, labels


class Organization(models.Model):
    """The owner of tasks, graders, scores and keys. The operating one (the first created) runs this installation.

    text_days   days for which prompts and responses are kept; null: until they are erased
    score_days  days for which scores are kept; null: no limit
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    name = models.CharField(max_length=200, unique=True)
    operating = models.BooleanField(default=False)
    suspended = models.BooleanField(default=False)
    text_days = models.PositiveIntegerField(null=True, blank=True)
    score_days = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["operating"], condition=models.Q(operating=True), name="access_one_operating_organization"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.Model):
    """A role: what its members and keys may do, as data. `organization` is null for a built-in role.

    permissions  [{"resource": …, "actions": [create, read, update, delete], "scope": own | organization | all}]
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, null=True, blank=True, on_delete=models.CASCADE)
    name = models.CharField(max_length=64)
    description = models.CharField(max_length=400, blank=True)
    permissions = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "name"], name="access_role_name"),
            models.UniqueConstraint(
                fields=["name"], condition=models.Q(organization=None), name="access_built_in_role_name"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def label(self) -> str:
        """The role as pages, mails and errors name it. A role of an organization keeps the name that it was given."""
        return labels.role(self.name, built_in=self.organization_id is None)


class Membership(models.Model):
    """A person's membership in an organization, or an invitation until a person accepts it.

    uid           its id in the API
    user          null while it is an invitation
    email         the recipient of the invitation; '' if there was none
    token_digest  SHA-256 of the token in the invitation's link; null after it is accepted
    """

    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(unique=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE)
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE)
    role = models.ForeignKey(Role, on_delete=models.PROTECT)
    email = models.EmailField(blank=True)
    invited_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.SET_NULL, db_index=False, related_name="+"
    )
    token_digest = models.BinaryField(max_length=32, null=True, unique=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "user"], name="access_membership_user"),
            models.UniqueConstraint(
                fields=["organization", "email"], condition=models.Q(user=None), name="access_invitation_email"
            ),
            models.CheckConstraint(
                condition=models.Q(user__isnull=False) | ~models.Q(email=""), name="access_membership_whose"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user or self.email} in {self.organization}"

    @property
    def public_id(self) -> str:
        return ids.encode("member", self.uid)
