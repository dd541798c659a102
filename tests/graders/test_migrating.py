"""What migration 0002 makes of graders from before."""

from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from graders.models import Grader
from tests.factories import GraderFactory


@pytest.mark.django_db
def test_verified_graders_that_were_off_count_as_switched_off_by_their_owner():
    off = GraderFactory(status="inactive")
    GraderFactory(status="inactive", verified_at=None)
    GraderFactory(status="inactive", gone_at=timezone.now())
    GraderFactory(status="degraded")
    import_module("graders.migrations.0002_guards").note_who_was_switched_off(apps, None)
    assert list(Grader.objects.filter(switched_off=True)) == [off]
