"""Generates OpenAPI from the operations: drf-spectacular lists the routes, msgspec describes the Structs."""

import enum
import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from drf_spectacular.openapi import AutoSchema

from autotune.core import ids
from autotune.core.api.operations import ApiStruct, Operation
from autotune.core.api.parsing import PublicId
from autotune.core.api.problems import Problem

REF = "#/components/schemas/{name}"
COMMON_ERRORS = (400, 401, 403, 404, 405, 406, 414, 429, 431, 503)
BODY_ERRORS = (411, 413, 415)
KEY_ERRORS = (409, 422)
KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes the request safe to repeat: for 24 hours the same key and request get the same response.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
}
REPLAYED_HEADER = {
    "Idempotency-Replayed": {
        "description": "`true` if this is the stored response of an earlier request with the same key.",
        "schema": {"type": "string", "enum": ["true"]},
    }
}
ERRORS = {
    400: "The request is invalid; `errors` lists the members at fault.",
    401: "The API key is missing or not valid.",
    403: "The role does not allow this action.",
    404: "The object does not exist, or is outside the caller's scope.",
    405: "The path does not support this method.",
    406: "No media type in `Accept` is available.",
    409: "The state of the object does not allow this operation.",
    410: "The requested object is no longer available.",
    411: "The body has no Content-Length.",
    413: "The body is too large.",
    414: "Path and query are too long together.",
    415: "The body is not plain JSON in UTF-8.",
    416: "The range begins after the end of the file.",
    422: "The `Idempotency-Key` was used for another request.",
    429: "Too many requests; try again after `Retry-After`.",
    431: "A header is too large, or there are too many.",
    502: "The work failed, and there is no fallback.",
    503: "The database is unavailable; try again after `Retry-After`.",
}
NO_ERRORS = {206: "The requested range.", 304: "Unchanged: `If-None-Match` contains the current `ETag`."}
KIND_OF_PATH = re.compile(r"<(\w+):(\w+)>")


def schema_hook(kind: type) -> dict[str, Any]:
    """Return the schema of a public id, or of one of Django's choices (whose metaclass msgspec does not know)."""
    if issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if issubclass(kind, PublicId):
        return {"type": "string", "pattern": f"^{kind.kind}_{ids.SUFFIX}$"}
    raise NotImplementedError(str(kind))


# Groups of the API reference that are not the first part of the address.
TAGS: Final = {
    "api-keys": "API keys", "audit-events": "Audit log", "downloads": "Exports",
    **dict.fromkeys(("docs", "health", "metrics", "moving", "ready", "schema"), "Server"),
}  # fmt: skip


class OperationSchema(AutoSchema):
    """Describes the methods that `autotune.core.api.operations.operation` declared; others are left out."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any
    ) -> dict[str, Any] | None:
        handler = getattr(self.view, method.lower(), None)
        what: Operation | None = getattr(handler, "operation", None)
        if what is None:
            return None
        used_types.update({what.body, *what.answers.values(), Problem} - {None, object})
        kinds = {name: kind for kind, name in KIND_OF_PATH.findall(path_regex)}
        keyed = method in getattr(self.view, "keyed_methods", ())
        described = {
            "operationId": _operation_id(path, method),
            "summary": what.summary,
            "description": inspect.cleandoc(getattr(handler, "__doc__", None) or ""),
            "tags": [tag(path)],
            "parameters": _path_parameters(path, kinds) + _query_parameters(what) + [KEY_PARAMETER] * keyed,
            "responses": _responses(what, open_to_all=not self.view.permission_classes, keyed=keyed),
        }
        if what.body:
            described["requestBody"] = {
                "required": what.needs_body,
                "content": {"application/json": {"schema": {"$ref": REF.format(name=what.body.__name__)}}},
            }
        described["security"] = [] if not self.view.permission_classes else [{"apiKey": []}, {"session": []}]
        return {key: value for key, value in described.items() if value or key == "security"}


def tag(path: str) -> str:
    """Return the name of the group in which the API reference lists an operation, in the words of the vocabulary."""
    collection = path.removeprefix("/api/v1/").split("/")[0]
    return TAGS.get(collection) or collection.replace("-", " ").capitalize()


used_types: set[Any] = set()


def add_components(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Add the schema of every Struct that an operation uses, and how callers authenticate (hook of drf-spectacular)."""
    _, schemas = msgspec.json.schema_components(
        sorted(used_types, key=lambda kind: kind.__name__), schema_hook=schema_hook, ref_template=REF
    )
    components = result.setdefault("components", {})
    for shape in _kinds_of(ApiStruct):
        if shape.__name__ in schemas and not shape.__struct_config__.omit_defaults:
            schemas[shape.__name__]["required"] = _required_members(shape)
    components["schemas"] = {**components.get("schemas", {}), **dict(sorted(schemas.items()))}
    components["securitySchemes"] = {
        "apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, `at_live_…` or `at_test_…`."},
        "session": {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": "With the CSRF token."},
    }
    return result


def _required_members(shape: type[msgspec.Struct]) -> list[str]:
    """Return the members that every response has, including those with a default, without those that may be absent."""
    fields = msgspec.structs.fields(shape)
    return [field.encode_name for field in fields if field.default is not msgspec.UNSET]


def _kinds_of(base: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds_of(kind)


def _operation_id(path: str, method: str) -> str:
    words = [word.strip("{}") for word in path.removeprefix("/api/v1/").split("/")]
    return "_".join([method.lower(), *words]).replace("-", "_")


def _path_parameters(path: str, kinds: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string"} | ({"pattern": f"^{kinds[name]}_{ids.SUFFIX}$"} if name in kinds else {}),
        }
        for name in re.findall(r"{(\w+)}", path)
    ]


def _query_parameters(what: Operation) -> list[dict[str, Any]]:
    if what.query is None:
        return []
    _, schemas = msgspec.json.schema_components([what.query], schema_hook=schema_hook, ref_template=REF)
    shape = schemas[what.query.__name__]
    required = set(shape.get("required", ()))
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(schema)}
        for name, schema in shape["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query parameter is absent, never null."""
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if not options:
        return schema
    rest = {key: value for key, value in schema.items() if key not in {"anyOf", "default"}}
    return {**rest, **(options[0] if len(options) == 1 else {"anyOf": options})}


def _responses(what: Operation, *, open_to_all: bool, keyed: bool) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for status, shape in what.answers.items():
        answers[str(status)] = {"description": NO_ERRORS.get(status, what.summary)}
        if status != 304 and (shape or what.produces != ("application/json",)):
            answers[str(status)]["content"] = {media: {"schema": _content(media, shape)} for media in what.produces}
        if keyed and status < 300:
            answers[str(status)]["headers"] = REPLAYED_HEADER
    common = [status for status in COMMON_ERRORS if not (open_to_all and status in (401, 403, 429))]
    problem = {"application/problem+json": {"schema": {"$ref": REF.format(name="Problem")}}}
    more = (BODY_ERRORS if what.body else ()) + (KEY_ERRORS if keyed else ())
    for status in sorted({*common, *what.errors, *more}):
        described = answers.setdefault(str(status), {"description": ERRORS[status]})
        described["content"] = described.get("content", {}) | problem
    return answers


def _content(media: str, shape: Any) -> dict[str, Any]:
    if shape is object:  # any JSON
        return {}
    if shape:
        return {"$ref": REF.format(name=shape.__name__)}
    return {"type": "object"} if media.endswith("json") and "ndjson" not in media else {"type": "string"}
