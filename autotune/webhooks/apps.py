from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "autotune.webhooks"
    label = "webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        from autotune.access.audit.reading import object_names
        from autotune.access.frame import navigation
        from autotune.webhooks import checks  # noqa: F401 - registers them; the models are loaded by now
        from autotune.webhooks.models import Webhook
        from autotune.webhooks.navigation import PLACES

        navigation.register(*PLACES)
        object_names.register(
            "whk", lambda principal: Webhook.objects.live().visible_to(principal), name_column="description"
        )
