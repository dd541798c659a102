"""Organizations, people, roles and API keys."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from autotune.core import ids
from autotune.core.fields import EncryptedTextField


class Organization(models.Model):
    """Whose tasks, graders and scores. The operating one (the first made) runs this installation."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    name = models.CharField(max_length=200, unique=True)
    operating = models.BooleanField(default=False)
    suspended = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["operating"], condition=models.Q(operating=True), name="access_one_operating_organization"
            )
        ]

    def __str__(self) -> str:
        return self.name


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """A person who logs in by email; stored in lower case."""
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person. What they may do comes from their membership's role; `is_staff` opens the admin site alone."""

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=200, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[UserManager] = UserManager()
    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(email=Lower("email")), name="access_user_email_lower_case")
        ]

    def __str__(self) -> str:
        return self.email

    def clean(self) -> None:
        super().clean()
        self.email = self.email.strip().lower()


class Role(models.Model):
    """What its holders may do, as data. `organization` null: built in.

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


class Membership(models.Model):
    """A person's part in an organization."""

    id = models.BigAutoField(primary_key=True)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE)
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    role = models.ForeignKey(Role, on_delete=models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "user"], name="access_membership_user")]

    def __str__(self) -> str:
        return f"{self.user} in {self.organization}"


class ApiKey(models.Model):
    """A key of one organization, with one role, made by one person. Only the SHA-256 of its text is stored."""

    class Kind(models.TextChoices):
        LIVE = "live"
        TEST = "test"

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE)
    role = models.ForeignKey(Role, on_delete=models.PROTECT)
    user = models.ForeignKey(User, on_delete=models.PROTECT)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=4, choices=Kind.choices, default=Kind.LIVE)
    digest = models.BinaryField(max_length=32, unique=True)
    last_four = models.CharField(max_length=4)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} (…{self.last_four})"

    @property
    def public_id(self) -> str:
        return ids.encode("key", self.pk)


class StoredAnswer(models.Model):
    """What a POST with an `Idempotency-Key` was answered; written in the transaction of its work (access/idempotency).

    route          method and path
    key_digest     SHA-256 of the key
    request_digest keyed digest of the query and the body's octets
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, db_index=False)
    route = models.CharField(max_length=200)
    key_digest = models.BinaryField(max_length=32)
    request_digest = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField()
    answer = EncryptedTextField(null=True)
    expires_at = models.DateTimeField(db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "route", "key_digest"], name="access_stored_answer_key")
        ]

    def __str__(self) -> str:
        return f"{self.route} {self.status}"
