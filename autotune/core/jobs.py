"""Celery's way into the core."""

from celery import shared_task

from autotune.core import reencryption


@shared_task(name="core.reencrypt", ignore_result=True)
def reencrypt() -> None:
    """Go on with the re-encryption, if one is under way; every ten seconds."""
    reencryption.work()
