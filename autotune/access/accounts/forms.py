"""Forms of the second factor and of the invitation page."""

import logging
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import get_adapter as account_adapter
from allauth.account.forms import ResetPasswordKeyForm
from allauth.core import context
from allauth.core.internal import ratelimit
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal.auth import TOTP
from django import forms
from django.contrib.auth import password_validation
from django.db import transaction

from autotune.access.accounts import owners
from autotune.access.models import User
from autotune.core.crypto.encryption import Undecryptable

logger = logging.getLogger(__name__)
GUESSES = {"second_factor": "10/10m/key,50/d/key"}  # for each person, across all processes and addresses
CODE_ATTRS = {"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True, "maxlength": 16}


class _GuessedCode:
    """Mixin that limits the guesses of a person's code, and decrypts their secrets in their name."""

    user: User
    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs = dict(CODE_ATTRS)

    def clean_code(self) -> str:
        usage = ratelimit.consume(
            context.request, app="autotune", action="second_factor", config=GUESSES, key=str(self.user.pk)
        )
        if not usage:
            raise account_adapter().validation_error("too_many_login_attempts")
        try:
            with owners.acting(self.user.pk):
                code: str = super().clean_code()  # type: ignore[misc]
        except Undecryptable:
            logger.error("A second factor cannot be decrypted: its row was altered, or the master keys changed")
            raise get_adapter().validation_error("incorrect_code") from None
        usage.rollback()
        return code


class SecondFactorCodeForm(_GuessedCode, AuthenticateForm):
    pass


class ReauthenticationCodeForm(_GuessedCode, ReauthenticateForm):
    pass


class SecondFactorSetupForm(_GuessedCode, ActivateTOTPForm):
    def clean_code(self) -> str:
        """Use the code up, like every later code, so that a person who saw it cannot log in with it."""
        code: str = super().clean_code()
        if not TOTP(Authenticator(user=self.user))._mark_code_used(code):
            raise get_adapter().validation_error("incorrect_code")
        return code


class PasswordResetForm(ResetPasswordKeyForm):
    """Set a new password by a link from a mail. The link works for one password, however often it was opened."""

    user: User

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            self._set_password(cleaned["password1"])
        return cleaned

    def save(self) -> None:
        """Do nothing: `clean` has set the password already, under a lock."""

    def _set_password(self, password: str) -> None:
        """Set the password, or raise ValidationError if the link has been used since it was opened."""
        with transaction.atomic():
            user = User.objects.select_for_update().get(pk=self.user.pk)
            if not app_settings.PASSWORD_RESET_TOKEN_GENERATOR().check_token(user, self.temp_key):
                raise forms.ValidationError("This link has been used and no longer works. Request a new link.")
            account_adapter().set_password(user, password)
        self.user = user


class JoinForm(forms.Form):
    """The form in which a person without an account accepts an invitation."""

    name = forms.CharField(max_length=200, widget=forms.TextInput(attrs={"autocomplete": "name", "autofocus": True}))
    password = forms.CharField(
        strip=False,
        max_length=1024,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 12 characters. A sentence is easy to remember.",
    )

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.email = email

    def clean(self) -> dict[str, Any]:
        cleaned_data = super().clean() or self.cleaned_data
        if "password" in cleaned_data and "\0" not in cleaned_data["password"]:
            try:
                password_validation.validate_password(
                    cleaned_data["password"], User(email=self.email, name=cleaned_data.get("name", ""))
                )
            except forms.ValidationError as exc:
                self.add_error("password", exc)
        return cleaned_data
