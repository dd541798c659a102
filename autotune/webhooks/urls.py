"""Routes of webhooks below `/api/v1/`."""

from django.urls import URLPattern, path

from autotune.webhooks import api

urlpatterns: list[URLPattern] = [
    path("webhooks", api.Webhooks.as_view()),
    path("webhooks/<whk:webhook_id>", api.WebhookDetail.as_view()),
    path("webhooks/<whk:webhook_id>/test", api.WebhookTest.as_view()),
    path("webhooks/<whk:webhook_id>/rotate-secret", api.WebhookRotateSecret.as_view()),
    path("webhooks/<whk:webhook_id>/deliveries", api.WebhookDeliveries.as_view()),
    path("webhooks/<whk:webhook_id>/deliveries/<dlv:delivery_id>/redeliver", api.WebhookRedeliver.as_view()),
]
