"""A mail that cannot be sent fails no caller, and the log names neither the address nor the text."""

import smtplib

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from autotune.access.accounts import mailing
from autotune.webhooks import mail as webhook_mail

ADDRESS = "person@example.org"


class Refusing(BaseEmailBackend):
    errors = [smtplib.SMTPRecipientsRefused({ADDRESS: (550, b"no such user")}), RuntimeError(f"quota of {ADDRESS}")]

    def send_messages(self, messages):
        raise self.errors[len(messages[0].subject)]


@pytest.fixture
def refused(settings):
    settings.EMAIL_BACKEND = f"{__name__}.Refusing"


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(("subject", "name"), [("", "SMTPRecipientsRefused"), ("x", "RuntimeError")])
def test_the_failure_is_logged_without_the_address(caplog, subject, name):
    message = EmailMessage(subject, "a secret", to=[ADDRESS])
    assert mailing.send(message) is False
    assert mailing.send_soon(message).result(10) is False
    assert caplog.messages == [f"A mail could not be sent: {name}"] * 2
    assert ADDRESS not in caplog.text
    assert "a secret" not in caplog.text


@pytest.mark.usefixtures("refused")
def test_a_mail_about_a_webhook_is_logged_with_its_subject(caplog):
    webhook_mail.send(ADDRESS, "x", "the text")
    assert caplog.messages[-1] == f"mail to {ADDRESS} not sent: x"


def test_a_sent_mail_is_reported_as_sent(caplog):
    assert mailing.send(EmailMessage("x", "y", to=[ADDRESS])) is True
    assert mail.outbox[0].to == [ADDRESS]
    assert caplog.messages == []
