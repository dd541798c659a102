"""Admin pages of graders' shared secrets."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core.admin.cells import flag, linked, moment
from autotune.core.admin.lists import CreatedWithin
from graders.admin.parts import GraderFilter, GraderPart
from graders.models import (
    GraderSecret,
)


@admin.register(GraderSecret)
class GraderSecretAdmin(GraderPart):
    """A list of secrets by their ids; it never shows a secret or its ciphertext."""

    kind = "gkey"
    list_display = (
        "key_id", linked("grader"), flag("current", "current", "previous", "use", tone="good"),
        flag("confirmed", "confirmed", "not confirmed", "known to the grader", tone="good"),
        moment("valid_until", order=""), moment("created_at", order=""),
    )  # fmt: skip
    list_filter = ("current", "confirmed", GraderFilter, CreatedWithin)
    fields = ("key_id", "grader", "current", "confirmed", "valid_until", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[GraderSecret]:
        return super().get_queryset(request).defer("secret")
