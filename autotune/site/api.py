"""Probes, metrics, the OpenAPI document and its rendering: open to all but the metrics."""

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerView
from rest_framework.permissions import BasePermission
from rest_framework.renderers import TemplateHTMLRenderer
from rest_framework.request import Request

from autotune.core.api.operations import Answer, Negotiation, OperationView, operation
from autotune.site import document
from autotune.site.status import metrics, moving, probes
from autotune.site.status.moving import Moving
from autotune.site.status.probes import Health, Readiness


class OpenView(OperationView):
    """Needs and looks at no key."""

    authentication_classes = ()
    permission_classes = ()


class HealthView(OpenView):
    @operation(summary="Is the process alive", answers={200: Health})
    def get(self, request: Request) -> Health:
        return Health("ok")


class ReadyView(OpenView):
    @operation(summary="Can the process accept work", answers={200: Readiness, 503: Readiness})
    def get(self, request: Request) -> Answer:
        """503 only for what submitting needs: database, migrations, disk. A broker that is away is `degraded`."""
        state = probes.readiness()
        return Answer(state, 503 if state.status == "failed" else 200)


class MovingView(OpenView):
    @operation(summary="Does due work move", answers={200: Moving, 503: Moving})
    def get(self, request: Request) -> Answer:
        """503 while work that is due stands still: no worker sweeps, nobody takes the due runs of a grader, runs of
        lost workers are not returned, or events wait. A large backlog that is worked on is no fault."""
        state = moving.state()
        return Answer(state, 503 if state.status == "failed" else 200)


class MayReadMetrics(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return metrics.may_read(request.auth, request._request.META.get("REMOTE_ADDR", ""))  # type: ignore[arg-type]


class MetricsView(OperationView):
    permission_classes = (MayReadMetrics,)

    @operation(summary="Metrics for Prometheus", answers={200: None}, produces=("text/plain",))
    def get(self, request: Request) -> HttpResponseBase:
        """With a key that may read the administration of the operating organization, or without one from
        `AUTOTUNE_METRICS_NETWORKS`."""
        return HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE)


class FirstRenderer(Negotiation):
    """Whatever the browser asks for, the view's only renderer answers."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class SchemaView(OpenView):
    renderer_classes = [OpenApiJsonRenderer]
    content_negotiation_class = FirstRenderer

    @operation(summary="The OpenAPI document", answers={200: None}, produces=(document.MEDIA_TYPE,))
    def get(self, request: Request) -> HttpResponseBase:
        return HttpResponse(document.octets(), content_type=document.MEDIA_TYPE)


class DocsView(OpenView, SpectacularSwaggerView):
    """Rendered from files of our own: works without the internet."""

    renderer_classes = [TemplateHTMLRenderer]
    content_negotiation_class = FirstRenderer
    url_name = "schema"
    title = "Autotune API"

    @operation(summary="The OpenAPI document, rendered", answers={200: None}, produces=("text/html",))
    def get(self, request: Request) -> HttpResponseBase:
        return SpectacularSwaggerView.get(self, request)
