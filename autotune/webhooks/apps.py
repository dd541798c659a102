from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "autotune.webhooks"
    label = "webhooks"
    verbose_name = "Webhooks"
