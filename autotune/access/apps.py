from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "autotune.access"
    label = "access"
    verbose_name = "Access"

    def ready(self) -> None:
        from autotune.access import querysets
        from autotune.access.accounts import signals  # noqa: F401 - connects them
        from autotune.access.audit import personal_events as audited
        from autotune.access.audit.reading import object_names
        from autotune.access.frame import navigation
        from autotune.access.navigation import PLACES
        from autotune.core import labels

        audited.connect()
        labels.register_resources({"admin": "administration", "audit": "audit log", "keys": "API keys"})
        navigation.register(*PLACES)
        object_names.register("key", lambda principal: querysets.api_keys().visible_to(principal))
        object_names.register("role", lambda principal: querysets.roles().visible_to(principal))
