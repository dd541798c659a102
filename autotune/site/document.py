"""The OpenAPI document as this process answers it."""

import functools
import threading

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer

MEDIA_TYPE = OpenApiJsonRenderer.media_type
_one_at_a_time = threading.Lock()


def octets() -> bytes:
    """The document as JSON, made when it is first asked for.

    drf-spectacular hangs what it makes of a view on the view's class, so two threads that generate at once take it from
    each other; and nothing of a request is in it.
    """
    with _one_at_a_time:
        return _made()


@functools.cache
def _made() -> bytes:
    return OpenApiJsonRenderer().render(SchemaGenerator().get_schema(public=True), renderer_context={})
