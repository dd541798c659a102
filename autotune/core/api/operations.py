"""API operations: each declares its Structs once, from which parsing, checks, responses and OpenAPI follow.

Bodies and queries are msgspec Structs. Bodies are read strictly: unknown members, coercion, NaN, duplicate members, NUL
and lone surrogates are refused, each with a JSON pointer.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.views import APIView

from autotune.core.api import parsing
from autotune.core.errors import Invalid, UnsupportedMedia

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class ApiStruct(msgspec.Struct, rename="camel"):
    """Base of response bodies: camelCase on the wire, every member present."""


class BodyStruct(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Base of request bodies."""


class QueryStruct(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Base of query parameters; numbers and booleans are read from their text."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The declaration of one method of one path: its body, query and responses.

    answers   status -> Struct of the JSON body, `object` for JSON of any shape, or None for no body
    resource  the row of the role table that must allow `action`; `or_resource` another one that may in its place
    errors    statuses that the operation itself can return, besides those of every operation
    produces  media types of the answer where it is not JSON
    converts  False: `body` describes the shape, and the method gets the parsed JSON (a batch names all its errors)
    items     a member of the body that is a list whose items are refused one by one (see strictjson.loads_items)
    secrets   members of the answer, as `credentials.sharedSecret`, that are shown once: null when it is repeated
    subject   attributes of the answer, as `review.completion_id`, that name the completion whose text is in it, or the
              task of those whose texts are
    raw_body  the method reads the body's bytes itself
    calls_out the method waits for another server, or makes transactions of its own: none surrounds it
    """

    summary: str
    body: type[BodyStruct] | None = None
    query: type[QueryStruct] | None = None
    answers: dict[int, Any] = field(default_factory=dict)
    errors: Sequence[int] = ()
    resource: str = ""
    or_resource: str = ""
    action: str = ""
    produces: Sequence[str] = ("application/json",)
    needs_body: bool = True
    converts: bool = True
    items: str = ""
    secrets: Sequence[str] = ()
    subject: str = ""
    calls_out: bool = False
    raw_body: bool = False


@dataclass(frozen=True, slots=True)
class OperationResponse:
    """A Struct with a status other than the operation's first, or with headers."""

    content: Any
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


class OperationNegotiation(DefaultContentNegotiation):
    """The client must accept a media type that the operation produces; errors are problem+json in any case."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        accepted = request.headers.get("Accept") or "*/*"
        view = request.parser_context["view"]
        media_types = view.produced_types(request.method)
        for entry in accepted.split(","):
            media, *params = (part.strip().lower() for part in entry.split(";"))
            if any(param.replace(" ", "") in {"q=0", "q=0.0", "q=0.00", "q=0.000"} for param in params):
                continue
            if media == "*/*" or any(media in (kind, kind.partition("/")[0] + "/*") for kind in media_types):
                return renderers[0], renderers[0].media_type
        raise NotAcceptable


class OperationView(APIView):
    """A DRF view whose methods are operations. DRF authenticates, throttles and catches; the shapes are ours."""

    content_negotiation_class = (
        OperationNegotiation  # not in the settings: DRF would import this module while it is being read
    )
    keyed_methods: frozenset[str] = frozenset()  # those that take an `Idempotency-Key`

    def authorize(self, operation: Operation) -> None:
        """Raise Forbidden or Unauthenticated if the caller may not act; the access app's view overrides this."""

    def perform(self, operation: Operation, work: Callable[[], HttpResponseBase]) -> HttpResponseBase:
        """Return the response of `work()`, which calls the method; the access app's view may return a stored one."""
        return work()

    def heard(self, operation: Operation, body: Any) -> None:
        """Receive the parsed body of a request; the access app's view records which members it has."""

    def produced_types(self, method: str | None) -> Sequence[str]:
        handler = getattr(self, (method or "get").lower(), None)
        operation: Operation | None = getattr(handler, "operation", None)
        return (*(operation.produces if operation else ("application/json",)), "application/problem+json")

    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        response = HttpResponse(status=204, headers={"Allow": ", ".join(self.allowed_methods)})
        del response["Content-Type"]
        return response


def operation(**declared: Any) -> Callable[[Callable[..., Any]], Callable[..., HttpResponseBase]]:
    """Declare a method of an OperationView; see Operation for the arguments.

    The method gets `body` and `query` as keyword arguments where they are declared, and returns a Struct, an
    OperationResponse, None (an empty response), or a ready HTTP response.
    """
    declaration = Operation(**declared)

    def decorate(method: Callable[..., Any]) -> Callable[..., HttpResponseBase]:
        @functools.wraps(method)
        def handle(self: OperationView, request: Request, **path: Any) -> HttpResponseBase:
            self.authorize(declaration)
            arguments: dict[str, Any] = dict(path)
            query = read_query(request._request, declaration.query)
            if declaration.query:
                arguments["query"] = query
            if declaration.body:
                parsed = read_json(request._request, may_be_empty=not declaration.needs_body, items=declaration.items)
                self.heard(declaration, parsed)
                arguments["body"] = parsing.convert(parsed, declaration.body) if declaration.converts else parsed
            elif request.method not in SAFE_METHODS and not declaration.raw_body:
                refuse_members(request._request)
            return self.perform(declaration, lambda: respond(method(self, request, **arguments), declaration))

        handle.operation = declaration  # type: ignore[attr-defined]
        return handle

    return decorate


def respond(result: Any, operation: Operation) -> HttpResponseBase:
    """Return the HTTP response for the result of an operation."""
    if isinstance(result, HttpResponseBase):
        return result
    answer = result if isinstance(result, OperationResponse) else OperationResponse(result)
    status = answer.status or next(iter(operation.answers))
    body = b"" if answer.content is None else msgspec.json.encode(answer.content)
    response = HttpResponse(body, status=status, headers=answer.headers)
    response.content_struct = answer.content  # type: ignore[attr-defined] # for the audit log
    if operation.subject:
        response.subject = operator.attrgetter(operation.subject)(answer.content)  # type: ignore[attr-defined]
    if body:
        response["Content-Type"] = "application/json"
    elif "Content-Type" in response:
        del response["Content-Type"]
    return response


def read_json(request: HttpRequest, *, may_be_empty: bool = False, items: str = "") -> Any:
    """Return the parsed body as plain Python values, not yet converted.

    raises Invalid with a pointer, UnsupportedMedia for another Content-Type
    """
    raw = request.body
    if not raw and may_be_empty:
        return {}
    if raw:
        require_json(request)
    return parsing.loads(raw, items=items)


def require_json(request: HttpRequest) -> None:
    """Raise UnsupportedMedia unless the body is declared as JSON in UTF-8."""
    if request.content_type != "application/json":
        raise UnsupportedMedia("Send the body as application/json.")
    if (request.content_params or {}).get("charset", "utf-8").strip('"').lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMedia("Send the body in UTF-8.")


def refuse_members(request: HttpRequest) -> None:
    """Reject any member in the body of an operation that takes none; the body may be empty or `{}`."""
    if not request.body:
        return
    body = read_json(request)
    if body != {}:
        pointer = f"/{parsing.escape(next(iter(body)))}" if isinstance(body, dict) else ""
        raise Invalid.field(pointer, "unknown_field", "this operation takes no body.")


def read_query(request: HttpRequest, shape: type[QueryStruct] | None) -> Any:
    """Return the query parameters as the declared Struct.

    raises Invalid for an unknown, repeated or malformed parameter, with `?name` as the pointer
    """
    parameters: dict[str, str | list[str]] = {}
    for name, values in request.GET.lists():
        if shape is None or name not in shape.__struct_encode_fields__:
            raise Invalid.field(f"?{name}", "unknown_parameter", "there is no such parameter here.")
        is_repeatable = name in parsing.repeatable(shape)
        if len(values) > 1 and not is_repeatable:
            raise Invalid.field(f"?{name}", "repeated_parameter", "give this parameter only once.")
        if any("\x00" in value for value in values):
            raise Invalid.field(f"?{name}", "invalid_text", "NUL is not allowed.")
        parameters[name] = values if is_repeatable else values[0]
    return parsing.convert_query(parameters, shape) if shape else None
