"""Routes of the pages of reward endpoints."""

from django.urls import URLPattern, path

from scores.live.pages import endpoint as detail
from scores.live.pages import endpoints

urlpatterns: list[URLPattern] = [
    path("reward-endpoints", endpoints.endpoints, name="reward_endpoints"),
    path("reward-endpoints/new", detail.new, name="reward_endpoint_new"),
    path("reward-endpoints/<rwd:endpoint_id>", detail.endpoint, name="reward_endpoint"),
    path("reward-endpoints/<rwd:endpoint_id>/change", detail.change, name="reward_endpoint_change"),
    path("reward-endpoints/<rwd:endpoint_id>/switch", detail.switch, name="reward_endpoint_switch"),
    path("reward-endpoints/<rwd:endpoint_id>/rotate", detail.rotate, name="reward_endpoint_rotate"),
    path("reward-endpoints/<rwd:endpoint_id>/delete", detail.delete, name="reward_endpoint_delete"),
    path("reward-endpoints/<rwd:endpoint_id>/try", detail.attempt, name="reward_endpoint_try"),
]
