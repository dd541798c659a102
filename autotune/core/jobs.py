"""The core's Celery jobs."""

from celery import shared_task

from autotune.core.crypto import reencryption, repairs


@shared_task(name="core.reencrypt", ignore_result=True)
def reencrypt() -> None:
    """Continue a re-encryption that is in progress. Runs every ten seconds."""
    reencryption.work()


@shared_task(name="core.delete_repaired_damage", ignore_result=True)
def delete_repaired_damage() -> None:
    """Delete the records of damaged values that have been repaired. Runs hourly."""
    repairs.delete_repaired()
