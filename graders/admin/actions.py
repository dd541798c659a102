"""Admin actions on the selected graders."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core.admin.actions import CALLED_AT_ONCE, confirmed, each
from autotune.core.errors import Conflict
from autotune.core.pages.formats import brief
from graders import registry
from graders.health import reports, verification
from graders.models import (
    Grader,
)


@admin.action(description="Switch the selected graders off", permissions=["switch"])
@confirmed(
    "Switch these graders off?",
    warning="Autotune does not call them until they are switched on again. Workflow runs that wait for them keep "
    "waiting.",
    button="Switch them off",
)
def switch_off(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    each(model_admin, request, queryset, lambda grader: registry.switch(grader.pk, on=False), "switched off")


@admin.action(description="Switch the selected graders on", permissions=["switch"])
def switch_on(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    each(model_admin, request, queryset, lambda grader: registry.switch(grader.pk, on=True), "switched on")


@admin.action(description="Check the health of the selected graders now", permissions=["switch"])
def check_health(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    checked_count = reports.check(list(queryset[: reports.GROUP]))
    model_admin.message_user(request, f"{checked_count} graders were called. Their checks show the results.")


@admin.action(description="Verify the selected graders", permissions=["switch"])
def verify(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Grader]) -> None:
    each(model_admin, request, queryset, _verify, "verified", most=CALLED_AT_ONCE)


def _verify(grader: Grader) -> None:
    """Verify a grader. raises Conflict with the checks that failed, and as verification.verify"""
    result = verification.verify(grader)
    if not result.verified:
        failed = "; ".join(f"{check.name}: {brief(check.detail, 120)}" for check in result.checks if not check.passed)
        raise Conflict(f"Not verified. {failed}", code="not_verified")
