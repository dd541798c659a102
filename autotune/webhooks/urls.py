"""Routes of webhooks below `/api/v1/`."""

from django.urls import URLPattern, path

from autotune.webhooks import api

urlpatterns: list[URLPattern] = [
    path("webhooks", api.WebhooksView.as_view()),
    path("webhooks/<whk:webhook_id>", api.WebhookDetailView.as_view()),
    path("webhooks/<whk:webhook_id>/test", api.WebhookTestView.as_view()),
    path("webhooks/<whk:webhook_id>/rotate-secret", api.WebhookRotateSecretView.as_view()),
    path("webhooks/<whk:webhook_id>/deliveries", api.WebhookDeliveriesView.as_view()),
    path("webhooks/<whk:webhook_id>/deliveries/<dlv:delivery_id>/redeliver", api.WebhookRedeliverView.as_view()),
]
