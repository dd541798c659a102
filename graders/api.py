"""API endpoints for graders.

`DELETE` asks higher apps through a signal whether a grader is in use, so this app does not depend on them.
"""

from typing import Any
from uuid import UUID

from rest_framework.request import Request

from autotune.access.views import ApiView, find_for
from autotune.core.api.operations import operation
from autotune.core.api.pagination import PageQuery, SortOrder, page
from autotune.core.clock import database_now
from graders import credentials, registry, responses, versions
from graders.health import reports, verification
from graders.health import responses as health_responses
from graders.models import Grader
from graders.requests import GraderIn, GraderPatch, GraderQuery, SecretRotationIn, StatsQuery
from graders.statistics import reports as statistics_reports
from graders.statistics import responses as statistics_responses
from graders.statistics.marketplace import PublicFigures

RESOURCE = "endpoint_graders"
ORDER = SortOrder("graders", {"createdAt": "created_at", "name": "name", "updatedAt": "updated_at"})


class GraderView(ApiView):
    """Base of the views below `/graders/:id`."""

    def grader(self, grader_id: UUID, action: str = "read") -> Grader:
        return find_for(Grader.objects.live().with_details(), self.principal, grader_id, action, "grader")

    def sees_all(self, grader: Grader) -> bool:
        return responses.sees_all_of(grader, self.principal)


class GradersView(ApiView):
    @operation(
        summary="Register a grader. The shared secret is shown once.",
        resource=RESOURCE,
        action="create",
        body=GraderIn,
        answers={201: responses.GraderRegistered},
        errors=(409,),
        secrets=("credentials.sharedSecret",),
    )
    def post(self, request: Request, body: GraderIn) -> responses.GraderRegistered:
        registration = registry.register(self.principal, body)
        return _registered(registration, self.principal)

    @operation(
        summary="List graders: the organization's own, and those that other organizations list.",
        resource=RESOURCE,
        action="read",
        query=GraderQuery,
        answers={200: responses.GraderList},
    )
    def get(self, request: Request, query: GraderQuery) -> responses.GraderList:
        graders = (
            Grader.objects.live()
            .with_details()
            .visible_to(self.principal)
            .matching(
                kind=query.kind,
                status=query.status,
                visibility=query.visibility,
                search=query.search,
                domain=query.domain,
            )
        )
        rows, pagination = page(graders, query, ORDER, owner=self.principal.organization.pk)
        return responses.GraderList([responses.grader_out(row, self.principal) for row in rows], pagination)


class GraderDetailView(GraderView):
    @operation(summary="Read a grader.", resource=RESOURCE, action="read", answers={200: responses.GraderAnswer})
    def get(self, request: Request, grader_id: UUID) -> responses.GraderAnswer:
        return responses.GraderAnswer(responses.grader_out(self.grader(grader_id), self.principal))

    @operation(
        summary="Change a grader. A new scheme, host or port creates a new secret and makes the grader inactive.",
        resource=RESOURCE,
        action="update",
        body=GraderPatch,
        answers={200: responses.GraderRegistered},
        errors=(409,),
    )
    def patch(self, request: Request, grader_id: UUID, body: GraderPatch) -> responses.GraderRegistered:
        registration = registry.patch(self.grader(grader_id, "update"), body)
        return _registered(registration, self.principal)

    @operation(
        summary="Delete a grader that no task's panel names. Its scores still name it.",
        resource=RESOURCE,
        action="delete",
        answers={204: None},
        errors=(409,),
    )
    def delete(self, request: Request, grader_id: UUID) -> None:
        registry.tombstone(self.grader(grader_id, "delete"))


class GraderVerifyView(GraderView):
    @operation(
        summary="Verify a grader with /health and a signed sample /score. If all checks pass, it becomes active.",
        resource=RESOURCE,
        action="update",
        answers={200: health_responses.VerificationOut},
        errors=(409,),
        calls_out=True,
    )
    def post(self, request: Request, grader_id: UUID) -> health_responses.VerificationOut:
        result = verification.verify(self.grader(grader_id, "update"))
        checks = [
            health_responses.CheckOut(check.name, check.passed, check.detail, check.latency_ms)
            for check in result.checks
        ]
        return health_responses.VerificationOut(result.verified, checks)


class GraderRotateSecretView(GraderView):
    @operation(
        summary="Create a new secret, shown once. The previous one stays valid for a grace period.",
        resource=RESOURCE,
        action="update",
        body=SecretRotationIn,
        needs_body=False,
        answers={200: responses.RotatedSecret},
        errors=(409,),
        secrets=("credentials.sharedSecret",),
    )
    def post(self, request: Request, grader_id: UUID, body: SecretRotationIn) -> responses.RotatedSecret:
        grader = self.grader(grader_id, "update")
        secret = credentials.rotate(grader, grace_hours=body.grace_hours, force=bool(body.force))
        return responses.RotatedSecret(responses.credentials_out(grader, secret))


class GraderStatsView(GraderView):
    @operation(
        summary="Read a grader's statistics over a window. Other organizations see rounded figures.",
        resource=RESOURCE,
        action="read",
        query=StatsQuery,
        answers={200: statistics_responses.GraderStatsOut},
    )
    def get(self, request: Request, grader_id: UUID, query: StatsQuery) -> statistics_responses.GraderStatsOut:
        grader = self.grader(grader_id)
        report = statistics_reports.report(grader, query.window)
        return report if self.sees_all(grader) else PublicFigures.of_report(report).stats_out()


class GraderHealthView(GraderView):
    @operation(
        summary="List a grader's recent checks and status changes, with reasons.",
        resource=RESOURCE,
        action="read",
        answers={200: health_responses.GraderHealthOut},
    )
    def get(self, request: Request, grader_id: UUID) -> health_responses.GraderHealthOut:
        return self._health_out(self.grader(grader_id))

    @operation(
        summary="Check a grader's health now. The platform does this every five minutes.",
        resource=RESOURCE,
        action="update",
        answers={200: health_responses.GraderHealthOut},
        errors=(409,),
        calls_out=True,
    )
    def post(self, request: Request, grader_id: UUID) -> health_responses.GraderHealthOut:
        reports.check_now(self.grader(grader_id, "update"))
        return self._health_out(self.grader(grader_id, "update"))

    def _health_out(self, grader: Grader) -> health_responses.GraderHealthOut:
        if not self.sees_all(grader):
            return health_responses.public_health_out(grader)
        return health_responses.health_out(grader, *reports.history(grader), now=database_now())


class GraderVersionsView(GraderView):
    @operation(
        summary="List the versions that a grader reported, newest first. Empty for other organizations.",
        resource=RESOURCE,
        action="read",
        query=PageQuery,
        answers={200: statistics_responses.VersionList},
    )
    def get(self, request: Request, grader_id: UUID, query: PageQuery) -> statistics_responses.VersionList:
        grader = self.grader(grader_id)
        return statistics_responses.VersionList(*versions.listed(grader, query, hidden=not self.sees_all(grader)))


def _registered(registration: registry.Registration, principal: Any) -> responses.GraderRegistered:
    credentials_out = (
        responses.credentials_out(registration.grader, registration.secret) if registration.secret else None
    )
    return responses.GraderRegistered(responses.grader_out(registration.grader, principal), credentials_out)
