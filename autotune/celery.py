"""The Celery application. Messages are hints ("grader G has work"); the database is the queue."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_ready

from autotune.core import filebroker, garbage, redisbroker
from autotune.site import engine

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")

filebroker.register()
redisbroker.register()
app = Celery("autotune")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="jobs")


@worker_ready.connect
def settle(**_: Any) -> None:
    garbage.settle()
    engine.warn_process()
