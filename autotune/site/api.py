"""The open endpoints: probes, the OpenAPI document and its rendering."""

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.renderers import TemplateHTMLRenderer
from rest_framework.request import Request

from autotune.core.api import Answer, Negotiation, OperationView, operation
from autotune.site import probes
from autotune.site.probes import Health, Readiness


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


class FirstRenderer(Negotiation):
    """Whatever the browser asks for, the view's only renderer answers."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class SchemaView(OpenView, SpectacularAPIView):
    renderer_classes = [OpenApiJsonRenderer]
    content_negotiation_class = FirstRenderer

    @operation(summary="The OpenAPI document", answers={200: None}, produces=("application/vnd.oai.openapi+json",))
    def get(self, request: Request) -> HttpResponseBase:
        return SpectacularAPIView.get(self, request)


class DocsView(OpenView, SpectacularSwaggerView):
    """Rendered from files of our own: works without the internet."""

    renderer_classes = [TemplateHTMLRenderer]
    content_negotiation_class = FirstRenderer
    url_name = "schema"
    title = "Autotune API"

    @operation(summary="The OpenAPI document, rendered", answers={200: None}, produces=("text/html",))
    def get(self, request: Request) -> HttpResponseBase:
        return SpectacularSwaggerView.get(self, request)
