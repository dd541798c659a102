"""The model of people who log in."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models, transaction
from django.db.models.functions import Lower
from django.utils import timezone

from autotune.core import ids
from autotune.core.pages import zones


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create a person who logs in by email; the email is stored in lower case."""
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person. Their membership's role decides what they may do; `is_staff` admits them to the admin site only.

    time_zone  in which the pages show them times; a name of the IANA database
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=200, blank=True)
    time_zone = models.CharField(max_length=zones.LONGEST, default=zones.DEFAULT, db_default=zones.DEFAULT)
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

    def save(self, *args: Any, **more: Any) -> None:
        """Save the person in one transaction with the audit event that a receiver may write."""
        with transaction.atomic():
            super().save(*args, **more)

    def clean(self) -> None:
        super().clean()
        self.email = self.email.strip().lower()
