from django.apps import AppConfig


class GradersConfig(AppConfig):
    name = "graders"

    def ready(self) -> None:
        from autotune.access.frame import navigation
        from graders import events
        from graders.navigation import PLACES

        events.register()
        navigation.register(*PLACES)
