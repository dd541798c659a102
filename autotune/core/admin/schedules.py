"""The admin pages of periodic jobs, without the kinds of schedule that no job of Autotune uses."""

from typing import Any, ClassVar, Final

from django.contrib import admin
from django_celery_beat.admin import PeriodicTaskAdmin
from django_celery_beat.models import ClockedSchedule, PeriodicTask, SolarSchedule

UNUSED: Final = frozenset({"solar", "clocked", "exchange", "routing_key", "headers"})

for model in (ClockedSchedule, SolarSchedule, PeriodicTask):
    admin.site.unregister(model)


@admin.register(PeriodicTask)
class PeriodicJobAdmin(PeriodicTaskAdmin):
    """The page of django-celery-beat, without suns, single moments and options of other brokers."""

    exclude: ClassVar[Any] = tuple(sorted(UNUSED))
    fieldsets: ClassVar[Any] = tuple(
        (title, {**options, "fields": tuple(name for name in options["fields"] if name not in UNUSED)})
        for title, options in PeriodicTaskAdmin.fieldsets
    )
