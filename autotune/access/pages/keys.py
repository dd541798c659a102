"""Pages that list, create, change, rotate and revoke API keys.

Only the response to the form that created a key shows its text.
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from autotune.access import policy, querysets, responses
from autotune.access.frame import acting, once, people, places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.keys import creation, tokens
from autotune.access.keys.api import ORDER
from autotune.access.models import ApiKey
from autotune.access.pages.key_forms import KeyForm, KeyRotationForm, NewKeyForm
from autotune.access.principal import Principal
from autotune.access.requests import KeyPatch, KeyQuery, KeyRotation, NewKey
from autotune.access.views import find_for
from autotune.core import ids
from autotune.core.api.pagination import page as cut
from autotune.core.errors import AutotuneError
from autotune.core.pages import listing

WHAT: Final = "API key"
FIELDS: Final = ("name", "role", "expiresAt", "networks", "kind")
STATES: Final = (("usable", "usable"), ("ended", "revoked or expired"))
IN_USE: Final = timedelta(hours=24)
SOON: Final = timedelta(days=7)


@page(("keys", "read"))
def every(request: PageRequest) -> HttpResponse:
    """List the keys that the person may read, including ended ones."""
    principal = request.principal
    list_request = listing.read(request, KeyQuery)
    api_keys = querysets.api_keys().visible_to(principal)
    ended = Q(revoked_at__isnull=False) | Q(expires_at__lte=timezone.now())
    if list_request.query.status is not None:
        api_keys = api_keys.filter(ended) if list_request.query.status == "ended" else api_keys.exclude(ended)
    rows, pagination = cut(api_keys, list_request.query, ORDER, owner=principal.organization.pk)
    names = people.EmailAddresses(principal, [row.user_id for row in rows])
    context = {
        "title": "API keys",
        "crumbs": places.crumbs(),
        "rows": [_row(row, names) for row in rows],
        "asked": list_request,
        "states": STATES,
        "pager": listing.pager(pagination, len(rows)),
        "reach": policy.reach(principal, "keys", "read"),
        "may_create": policy.reach(principal, "keys", "create") is not None,
    }
    return render(request, "access/keys/list.html", context)


@page(("keys", "create"), methods=("GET", "HEAD", "POST"))
def new(request: PageRequest) -> HttpResponse:
    """Create a key; only this response shows it."""
    principal = request.principal
    form = NewKeyForm(principal, request.POST or None)
    acting.concerns("keys", "create", fields=FIELDS)
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(NewKey)
            key_with_secret = once.do(request, lambda: creation.create(principal, body))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("keys", "create", key_with_secret.key.public_id, fields=FIELDS)
            return _show_secret(request, key_with_secret, "The key is created")
    context = {
        "title": "Create an API key",
        "crumbs": places.crumbs(("API keys", reverse("api_keys"))),
        "form": form,
        "ticket": once.ticket(request),
    }
    return render(request, "access/keys/new.html", context, status=400 if form.errors else 200)


@page(("keys", "read"), methods=("GET", "HEAD", "POST"))
def show_key(request: PageRequest, key_id: UUID) -> HttpResponseBase:
    """Show a key with its role and last use, and change its name and networks."""
    principal = request.principal
    key = _key(principal, key_id, "update" if request.method == "POST" else "read")
    form = KeyForm(request.POST or None, initial={"name": key.name, "networks": key.networks})
    if request.method == "POST":
        acting.concerns("keys", "update", key.public_id, fields=("name", "networks"))
        if form.is_valid():
            try:
                body = form.body(KeyPatch)
                acting.do(request, lambda: creation.change(principal, key_id, body), toast="The key is saved.")
            except AutotuneError as exc:
                form.refuse(exc)
            else:
                return redirect("api_key", key_id)
    return _page(request, key, form)


@page(("keys", "update"), methods=("POST",))
def rotate(request: PageRequest, key_id: UUID) -> HttpResponse:
    """Replace the person's own key by a new one; only this response shows it."""
    principal = request.principal
    old = _key(principal, key_id, "update")
    form = KeyRotationForm(request.POST)
    acting.concerns("keys", "update", old.public_id, fields=("graceHours",))
    if form.is_valid():
        try:
            hours = form.body(KeyRotation).grace_hours
            key_with_secret = once.do(request, lambda: creation.rotate(principal, key_id, grace_hours=hours))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            old = _key(principal, key_id, "read")
            return _show_secret(request, key_with_secret, "The new key is created", old=old)
    old = _key(principal, key_id, "read")
    return _page(request, old, KeyForm(initial={"name": old.name, "networks": old.networks}), rotation=form)


@page(("keys", "delete"), methods=("POST",))
def revoke(request: PageRequest, key_id: UUID) -> HttpResponseBase:
    """Revoke a key, so that its next request is rejected."""
    key = _key(request.principal, key_id, "delete")
    acting.concerns("keys", "delete", key.public_id)
    toast = f"The key {key.name[:80]} is revoked: its next request is rejected."
    acting.attempt(request, lambda: creation.revoke(request.principal, key_id), toast=toast)
    return redirect("api_key", key_id)


def _page(request: PageRequest, key: ApiKey, form: KeyForm, rotation: KeyRotationForm | None = None) -> HttpResponse:
    principal = request.principal
    is_own = key.user_id == principal.user.pk
    working = not tokens.ended(key)
    successor = key.replaced_by_id
    context = {
        **_row(key, people.EmailAddresses(principal, [key.user_id])),
        "title": key.name,
        "crumbs": places.crumbs(("API keys", reverse("api_keys"))),
        "form": form if working and _may(principal, key, "update") else None,
        "rotation": rotation or KeyRotationForm(),
        "ticket": once.ticket_for(request, reverse("api_key_rotate", args=[key.pk])),
        "may_rotate": working and is_own and successor is None and _may(principal, key, "update"),
        "may_revoke": key.revoked_at is None and working and _may(principal, key, "delete"),
        "mine": is_own,
    }
    wrong = form.errors or (rotation is not None and rotation.errors)
    return render(request, "access/keys/key.html", context, status=400 if wrong else 200)


def _show_secret(
    request: PageRequest, key_with_secret: creation.KeyWithSecret, title: str, old: ApiKey | None = None
) -> HttpResponse:
    """Render the only response that contains the key's text."""
    context = {
        "title": title,
        "crumbs": places.crumbs(("API keys", reverse("api_keys"))),
        "key": key_with_secret.key,
        "secret": key_with_secret.secret,
        "old": old,
    }
    return render(request, "access/keys/secret.html", context, status=201)


def _row(key: ApiKey, names: people.EmailAddresses) -> dict[str, object]:
    now = timezone.now()
    if key.revoked_at is not None:
        state = "revoked"
    elif key.expires_at is not None and key.expires_at <= now:
        state = "expired"
    elif key.expires_at is not None and key.expires_at - now < SOON:
        state = "expiring"
    else:
        state = "active"
    return {
        "key": key,
        "out": responses.api_key_out(key),
        "state": state,
        "who": names.of(key.user_id),
        "in_use": state in ("active", "expiring") and key.last_used_at is not None and now - key.last_used_at < IN_USE,
        "replaced": ids.encode("key", key.replaced_by_id) if key.replaced_by_id else "",
    }


def _key(principal: Principal, key_id: UUID, action: str) -> ApiKey:
    key: ApiKey = find_for(querysets.api_keys(), principal, key_id, action, WHAT)
    return key


def _may(principal: Principal, key: ApiKey, action: str) -> bool:
    return querysets.api_keys().allowed(principal, action).filter(pk=key.pk).exists()
