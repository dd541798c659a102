"""The API endpoints of API keys."""

from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from rest_framework.request import Request

from autotune.access import querysets, responses
from autotune.access.keys import creation
from autotune.access.models import ApiKey
from autotune.access.requests import KeyPatch, KeyQuery, KeyRotation, NewKey
from autotune.access.views import ApiView, find_for
from autotune.core.api.operations import operation
from autotune.core.api.pagination import SortOrder, page

RESOURCE = "keys"
ORDER = SortOrder("api-keys", {"createdAt": "created_at", "name": "name"})


class ApiKeyView(ApiView):
    """Base of the views below `/api-keys/:id`."""

    def key(self, key_id: UUID, action: str = "read") -> ApiKey:
        return find_for(querysets.api_keys(), self.principal, key_id, action, "API key")


class ApiKeysView(ApiView):
    @operation(
        summary="List API keys, including ended ones.", resource=RESOURCE, action="read", query=KeyQuery,
        answers={200: responses.ApiKeyPage},
    )  # fmt: skip
    def get(self, request: Request, query: KeyQuery) -> responses.ApiKeyPage:
        api_keys = querysets.api_keys().visible_to(self.principal)
        ended = Q(revoked_at__isnull=False) | Q(expires_at__lte=timezone.now())
        if query.status is not None:
            api_keys = api_keys.filter(ended) if query.status == "ended" else api_keys.exclude(ended)
        rows, pagination = page(api_keys, query, ORDER, owner=self.principal.organization.pk)
        return responses.ApiKeyPage([responses.api_key_out(row) for row in rows], pagination)

    @operation(
        summary="Create an API key. Only this response shows the key.", resource=RESOURCE, action="create", body=NewKey,
        answers={201: responses.ApiKeyWithSecret}, errors=(404, 409), secrets=("secret",),
    )  # fmt: skip
    def post(self, request: Request, body: NewKey) -> responses.ApiKeyWithSecret:
        return _with_secret(creation.create(self.principal, body))


class ApiKeyDetailView(ApiKeyView):
    @operation(summary="Read an API key.", resource=RESOURCE, action="read", answers={200: responses.ApiKeyAnswer})
    def get(self, request: Request, key_id: UUID) -> responses.ApiKeyAnswer:
        return responses.ApiKeyAnswer(responses.api_key_out(self.key(key_id)))

    @operation(
        summary="Rename an API key, or change its networks.", resource=RESOURCE, action="update", body=KeyPatch,
        answers={200: responses.ApiKeyAnswer}, errors=(409,),
    )  # fmt: skip
    def patch(self, request: Request, key_id: UUID, body: KeyPatch) -> responses.ApiKeyAnswer:
        key = creation.change(self.principal, self.key(key_id, "update").pk, body)
        return responses.ApiKeyAnswer(responses.api_key_out(key))

    @operation(
        summary="Revoke an API key: its next request is rejected.", resource=RESOURCE, action="delete",
        answers={204: None},
    )  # fmt: skip
    def delete(self, request: Request, key_id: UUID) -> None:
        creation.revoke(self.principal, self.key(key_id, "delete").pk)


class ApiKeyRevokeView(ApiKeyView):
    @operation(
        summary="Revoke an API key, and return it.", resource=RESOURCE, action="delete",
        answers={200: responses.ApiKeyAnswer},
    )  # fmt: skip
    def post(self, request: Request, key_id: UUID) -> responses.ApiKeyAnswer:
        key = creation.revoke(self.principal, self.key(key_id, "delete").pk)
        return responses.ApiKeyAnswer(responses.api_key_out(key))


class ApiKeyRotateView(ApiKeyView):
    @operation(
        summary="Replace one's own key by a new one. The old key still works for a grace period.",
        resource=RESOURCE, action="update", body=KeyRotation, needs_body=False,
        answers={201: responses.ApiKeyWithSecret}, errors=(409,), secrets=("secret",),
    )  # fmt: skip
    def post(self, request: Request, key_id: UUID, body: KeyRotation) -> responses.ApiKeyWithSecret:
        old = self.key(key_id, "update")
        return _with_secret(creation.rotate(self.principal, old.pk, grace_hours=body.grace_hours))


def _with_secret(key_with_secret: creation.KeyWithSecret) -> responses.ApiKeyWithSecret:
    return responses.ApiKeyWithSecret(responses.api_key_out(key_with_secret.key), key_with_secret.secret)
