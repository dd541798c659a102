"""The Celery application. Messages are hints ("grader G has work"); the database is the queue."""

import os
from typing import Any

from celery import Celery, Task
from celery.signals import beat_init, worker_init, worker_ready

from autotune.core import connections, garbage, logs
from autotune.core.brokers import files, redis_transport
from autotune.site import engine

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")

files.register()
redis_transport.register()
outages = logs.repeating(__name__)


class Job(Task):
    """The base class of Autotune's jobs. While the database is away, a job logs one line and ends, without a traceback.

    Its work is in the database, where the sweep and beat find it again.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except connections.ERRORS as exc:
            if not connections.is_away(exc):
                raise
            outages.warning("%s: the database is away: %s", self.name, exc)
            return None


app = Celery("autotune", task_cls=Job)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="jobs")


@worker_ready.connect
def settle(**_: Any) -> None:
    garbage.settle()
    engine.warn_process()


@worker_init.connect
def require_keys_of_worker(**_: Any) -> None:
    _require_master_keys("worker")


@beat_init.connect
def require_keys_of_beat(**_: Any) -> None:
    _require_master_keys("beat")


def _require_master_keys(process: str) -> None:
    from autotune.core.crypto.starting import (
        require_master_keys,  # Django is not set up yet when this module is imported
    )

    require_master_keys(process)
