"""Generate the OpenAPI document, once in each process."""

import functools
import threading

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

MEDIA_TYPE = OpenApiJsonRenderer.media_type
_one_at_a_time = threading.Lock()


def content() -> bytes:
    """Return the document as JSON, generated at the first call.

    drf-spectacular stores its state for a view on the view's class, so two threads that generate at once would disturb
    each other. The document does not depend on the request, so one copy serves all.
    """
    with _one_at_a_time:
        return _generated()


@functools.cache
def _generated() -> bytes:
    return OpenApiJsonRenderer().render(SchemaGenerator().get_schema(public=True), renderer_context={})
