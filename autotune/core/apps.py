from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "autotune.core"
    label = "core"

    def ready(self) -> None:
        from autotune.core import checks  # noqa: F401 - registers them
