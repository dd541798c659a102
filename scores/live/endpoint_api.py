"""The API views of reward endpoints."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access.views import ApiView, find_for
from autotune.core.api.operations import operation
from autotune.core.api.pagination import SortOrder, page
from scores.live import endpoint_responses as shapes
from scores.live import endpoints
from scores.live.endpoint_requests import NewRewardEndpoint, RewardEndpointPatch, RewardEndpointQuery
from scores.models import RewardEndpoint

RESOURCE = "reward_endpoints"
ORDER = SortOrder("reward-endpoints", {"createdAt": "created_at"})


class RewardEndpointsView(ApiView):
    @operation(
        summary="Create an address that trainers call for rewards. It is shown only once.",
        resource=RESOURCE,
        action="create",
        body=NewRewardEndpoint,
        answers={201: shapes.RewardEndpointWithUrl},
        errors=(409,),
        secrets=("url",),
    )
    def post(self, request: Request, body: NewRewardEndpoint) -> shapes.RewardEndpointWithUrl:
        """The endpoint acts for you, with the permissions that your role has when it is called. You need `create` of
        rewards.

        `unscored` sets the answer for samples without a score: `hold` makes the client retry, `neutral` answers
        `neutralValue`, `error` reports the failure. Test keys cannot create endpoints. 409 `task_archived`,
        `too_many_reward_endpoints`.
        """
        return _with_url(endpoints.create(self.principal, body))

    @operation(
        summary="List reward endpoints",
        resource=RESOURCE,
        action="read",
        query=RewardEndpointQuery,
        answers={200: shapes.RewardEndpointList},
    )
    def get(self, request: Request, query: RewardEndpointQuery) -> shapes.RewardEndpointList:
        """Sort by `createdAt` (default `-createdAt`)."""
        queryset = RewardEndpoint.objects.visible_to(self.principal)
        if query.task_id is not None:
            queryset = queryset.filter(task=query.task_id.uuid)
        if query.protocol is not None:
            queryset = queryset.filter(protocol=query.protocol)
        rows, pagination = page(queryset, query, ORDER, owner=self.principal.organization.pk)
        return shapes.RewardEndpointList([shapes.endpoint_out(row) for row in rows], pagination)


class EndpointView(ApiView):
    """Base of the views below `/reward-endpoints/:id`."""

    def endpoint(self, endpoint_id: UUID, action: str = "read") -> RewardEndpoint:
        return find_for(RewardEndpoint.objects.all(), self.principal, endpoint_id, action, "reward endpoint")


class RewardEndpointView(EndpointView):
    @operation(
        summary="Read a reward endpoint", resource=RESOURCE, action="read", answers={200: shapes.RewardEndpointAnswer}
    )
    def get(self, request: Request, endpoint_id: UUID) -> shapes.RewardEndpointAnswer:
        return shapes.RewardEndpointAnswer(shapes.endpoint_out(self.endpoint(endpoint_id)))

    @operation(
        summary="Change a reward endpoint, or switch it off",
        resource=RESOURCE,
        action="update",
        body=RewardEndpointPatch,
        answers={200: shapes.RewardEndpointAnswer},
    )
    def patch(self, request: Request, endpoint_id: UUID, body: RewardEndpointPatch) -> shapes.RewardEndpointAnswer:
        """Calls that are waiting are answered with the settings from before the change."""
        row = endpoints.change(self.endpoint(endpoint_id, "update").pk, body)
        return shapes.RewardEndpointAnswer(shapes.endpoint_out(row))

    @operation(
        summary="Delete a reward endpoint. Its address stops working immediately.",
        resource=RESOURCE,
        action="delete",
        answers={204: None},
    )
    def delete(self, request: Request, endpoint_id: UUID) -> None:
        self.endpoint(endpoint_id, "delete").delete()


class RewardEndpointRotateView(EndpointView):
    @operation(
        summary="Replace the address. The new one is shown only once; the old one stops working immediately.",
        resource=RESOURCE,
        action="update",
        answers={200: shapes.RewardEndpointWithUrl},
        secrets=("url",),
    )
    def post(self, request: Request, endpoint_id: UUID) -> shapes.RewardEndpointWithUrl:
        """You need `create` of rewards. Test keys cannot replace an address."""
        return _with_url(endpoints.rotate(self.principal, self.endpoint(endpoint_id, "update").pk))


def _with_url(address: endpoints.EndpointAddress) -> shapes.RewardEndpointWithUrl:
    return shapes.RewardEndpointWithUrl(shapes.endpoint_out(address.endpoint), address.url)
