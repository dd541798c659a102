from django.apps import AppConfig


class GradersConfig(AppConfig):
    name = "graders"

    def ready(self) -> None:
        from graders import events

        events.register()
