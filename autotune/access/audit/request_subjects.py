"""Derive what a request is about from its route and view, so that no view has to report it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, resolve

from autotune.access.audit.current_call import AuditedCall
from autotune.core import ids
from autotune.core.api.middleware import API_PREFIX
from autotune.core.api.operations import SAFE_METHODS, Operation
from autotune.core.urls import KINDS

API: Final = "/api/v1/"
NOT_AUDITED: Final = frozenset(
    {"/api/v1/health", "/api/v1/ready", "/api/v1/moving", "/api/v1/metrics", "/api/v1/schema", "/api/v1/docs"}
)
UNKNOWN: Final = "unknown"
HOME: Final = "home"
VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}
DELETION_CONFIRMED: Final = "post"  # Django's own
_PARAMETER: Final = re.compile(r"<(?:([^:>]+):)?([^>]+)>")
_GROUP: Final = re.compile(r"\(\?P<(\w+)>[^)]*\)")  # of a route that is a regular expression


@dataclass(frozen=True, slots=True)
class AuditedAction:
    """What a route and method do.

    route   the pattern, such as `/api/v1/tasks/:task_id`
    kinds   the path's parameters that name objects: (parameter, kind of its public id)
    """

    route: str
    resource: str
    verb: str
    kinds: tuple[tuple[str, str], ...] = ()

    @property
    def action(self) -> str:
        return f"{self.resource}.{self.verb}"


def is_audited(request: HttpRequest) -> bool:
    """Return whether the request is audited: all but probes and documents, and unknown addresses only in the API."""
    path = request.path_info
    if path in NOT_AUDITED:
        return False
    return path.startswith(API_PREFIX) or match_of(request) is not None


def match_of(request: HttpRequest) -> ResolverMatch | None:
    """Return the route of a request, even if a middleware rejected it before routing; None for an unknown address."""
    if request.resolver_match is not None:
        return request.resolver_match
    try:
        return resolve(request.path_info)
    except Resolver404:
        return None


def act_of(request: HttpRequest) -> tuple[AuditedAction, str]:
    """Return what the request does, and the public id of its object or ''."""
    match = match_of(request)
    method = (request.method or "GET").upper()
    if match is None:
        return AuditedAction(f"{API}*", UNKNOWN, VERBS.get(method, "read")), ""
    if getattr(match.func, "model_admin", None) is not None or "admin" in match.app_names:
        return _of_admin(match, method)
    act = _described(match.route, getattr(match.func, "cls", None), method)
    return act, _object_id(act.kinds, match.kwargs)


@lru_cache(maxsize=1024)
def _described(route: str, view: Any, method: str) -> AuditedAction:
    pattern = "/" + _PARAMETER.sub(r":\2", _GROUP.sub(r":\1", route)).strip("^$")
    kinds = tuple((name, kind) for kind, name in _PARAMETER.findall(route) if kind in KINDS)
    what = _operation(view, method)
    verb = (what.action if what else "") or VERBS.get(method, "read")
    if verb == "create" and not pattern.startswith(API):
        verb = "update"  # a form's route says what it does
    return AuditedAction(pattern, (what.resource if what else "") or _resource(view, pattern), verb, kinds)


def _operation(view: Any, method: str) -> Operation | None:
    handler = getattr(view, "get" if method in SAFE_METHODS else method.lower(), None)
    return getattr(handler, "operation", None)


def _resource(view: Any, pattern: str) -> str:
    """Return the resource of the view's other methods, or else the first part of the address."""
    for method in ("GET", "POST", "PATCH", "DELETE"):
        what = _operation(view, method)
        if what and what.resource:
            return what.resource
    if pattern == "/":
        return HOME
    return pattern.removeprefix(API).strip("/").split("/")[0].replace("-", "_")[:32] or UNKNOWN


def _object_id(kinds: Sequence[tuple[str, str]], path_arguments: dict[str, Any]) -> str:
    """Return the id of the innermost object in the path."""
    for name, kind in reversed(kinds):
        if isinstance(value := path_arguments.get(name), UUID):
            return ids.encode(kind, value)
    return ""


def _of_admin(match: ResolverMatch, method: str) -> tuple[AuditedAction, str]:
    """Return the act of an admin page: its route names the table, its path the row."""
    act = _described(match.route, None, method)
    page = (match.url_name or "").rpartition("_")[2]
    verb = {"add": "create", "delete": "delete"}.get(page, "update") if method not in SAFE_METHODS else "read"
    return AuditedAction(act.route, "admin", verb), row_id(
        getattr(match.func, "model_admin", None), match.kwargs.get("object_id")
    )


def row_id(model_admin: Any, pk: Any) -> str:
    """Return a row's public id, or `app.model key` if the table has none; '' for an invalid key."""
    if model_admin is None or pk is None:
        return ""
    try:
        key = model_admin.model._meta.pk.to_python(pk)
    except (ValidationError, TypeError, ValueError, OverflowError):  # the path may hold anything
        return ""
    kind = getattr(model_admin, "kind", "")
    if kind and isinstance(key, UUID):
        return ids.encode(kind, key)
    return f"{model_admin.model._meta.label_lower} {key}"[:64] if isinstance(key, int | UUID) else ""


def owner_of(call: AuditedCall) -> UUID | None:
    """Return the organization of an admin page's row, so that it sees in its log what was done to its own data."""
    match = call.request.resolver_match
    model_admin = getattr(match.func, "model_admin", None) if match else None
    if match is None or model_admin is None or "object_id" not in match.kwargs:
        return None
    model = model_admin.model
    if model._meta.label_lower == "access.organization":
        column = "pk"
    elif any(field.name == "organization" for field in model._meta.fields):
        column = "organization_id"
    else:
        return None
    try:
        return model._base_manager.filter(pk=match.kwargs["object_id"]).values_list(column, flat=True).first()
    except (ValueError, TypeError, ValidationError):
        return None


@dataclass(frozen=True, slots=True)
class SelectedAction:
    """An action of an admin list, and to how many rows it applies.

    asks  the request only wants the confirmation page
    """

    action: str
    count: int
    asks: bool


def selected_in(call: AuditedCall) -> SelectedAction | None:
    """Return the submitted action of an admin list; None for any other request."""
    request = call.request
    match = request.resolver_match
    model_admin = getattr(match.func, "model_admin", None) if match else None
    if model_admin is None or "action" not in request.POST:
        return None
    name = request.POST["action"]
    admin_action = model_admin.get_actions(request).get(name)
    if admin_action is None:
        return None
    answer = DELETION_CONFIRMED if name == "delete_selected" else getattr(admin_action[0], "answer", "")
    asks = bool(answer) and not request.POST.get(answer)
    return SelectedAction(f"admin.{name}"[:80], len(request.POST.getlist("_selected_action")), asks)
