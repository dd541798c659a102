from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "autotune.access"
    label = "access"
    verbose_name = "Access"

    def ready(self) -> None:
        from autotune.access.accounts import signals  # noqa: F401 - connects them
        from autotune.access.audit import personal_events as audited
        from autotune.access.frame import navigation
        from autotune.access.navigation import PLACES

        audited.connect()
        navigation.register(*PLACES)
