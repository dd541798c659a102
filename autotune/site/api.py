"""API views of probes, metrics and the OpenAPI document. All but the metrics are open to everyone."""

from typing import Any

from django.contrib.auth import get_user
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerView
from rest_framework.permissions import BasePermission
from rest_framework.renderers import TemplateHTMLRenderer
from rest_framework.request import Request

from autotune.access.frame.context import is_framed
from autotune.core.api.operations import OperationNegotiation, OperationResponse, OperationView, operation
from autotune.site import document
from autotune.site.status import metrics, moving, probes
from autotune.site.status.moving import Moving
from autotune.site.status.probes import ProcessHealth, Readiness


class OpenView(OperationView):
    """A view that needs no key, and ignores one that is sent."""

    authentication_classes = ()
    permission_classes = ()


class HealthView(OpenView):
    @operation(summary="Report whether the process is alive", answers={200: ProcessHealth})
    def get(self, request: Request) -> ProcessHealth:
        return ProcessHealth("ok")


class ReadyView(OpenView):
    @operation(summary="Report whether the process can accept work", answers={200: Readiness, 503: Readiness})
    def get(self, request: Request) -> OperationResponse:
        """Return 503 only if something fails that submitting needs: the database, migrations, encryption or disk.

        A broker that does not answer is `degraded`.
        """
        state = probes.readiness()
        return OperationResponse(state, 503 if state.status == "failed" else 200)


class MovingView(OpenView):
    @operation(summary="Report whether due work is being processed", answers={200: Moving, 503: Moving})
    def get(self, request: Request) -> OperationResponse:
        """Return 503 while due work makes no progress.

        That is the case if no worker sweeps, nobody takes the due runs of a grader, runs of lost workers are not
        returned, or events, erasures or retention make no progress. A long queue that is shrinking is not an error.
        """
        state = moving.state()
        return OperationResponse(state, 503 if state.status == "failed" else 200)


class MetricsPermission(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return metrics.may_read(request.auth, request._request.META.get("REMOTE_ADDR", ""))  # type: ignore[arg-type]


class MetricsView(OperationView):
    permission_classes = (MetricsPermission,)

    @operation(summary="Return metrics for Prometheus", answers={200: None}, produces=("text/plain",))
    def get(self, request: Request) -> HttpResponseBase:
        """Require a key that may read the administration of the operating organization.

        Calls from `AUTOTUNE_METRICS_NETWORKS` need no key.
        """
        return HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE)


class FirstRendererNegotiation(OperationNegotiation):
    """Select the view's only renderer, whatever format the browser requests."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class SchemaView(OpenView):
    renderer_classes = [OpenApiJsonRenderer]
    content_negotiation_class = FirstRendererNegotiation

    @operation(summary="Return the OpenAPI document", answers={200: None}, produces=(document.MEDIA_TYPE,))
    def get(self, request: Request) -> HttpResponseBase:
        return HttpResponse(document.content(), content_type=document.MEDIA_TYPE)


class DocsView(OpenView, SpectacularSwaggerView):
    """A page that uses only files of this server, so that it works without internet access."""

    renderer_classes = [TemplateHTMLRenderer]
    content_negotiation_class = FirstRendererNegotiation
    url_name = "schema"
    title = "API reference"

    @operation(summary="Show the OpenAPI document as a page", answers={200: None}, produces=("text/html",))
    def get(self, request: Request) -> HttpResponseBase:
        browser_request = request._request
        browser_request.user = get_user(browser_request)  # an operation open to all does not read the session
        framed = is_framed(browser_request)
        frame_template = "access/frame/base.html" if framed else "core/pages/base.html"
        values = SpectacularSwaggerView.get(self, request).data
        response = render(
            browser_request, self.template_name, {**values, "framed": framed, "frame_template": frame_template}
        )
        response["Cross-Origin-Opener-Policy"] = "unsafe-none"  # as drf-spectacular sends it, for logging in by OAuth
        return response
