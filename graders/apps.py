from django.apps import AppConfig


class GradersConfig(AppConfig):
    name = "graders"

    def ready(self) -> None:
        from autotune.access.audit.reading import object_names
        from autotune.access.frame import navigation
        from graders import events
        from graders.models import Grader
        from graders.navigation import PLACES

        events.register()
        navigation.register(*PLACES)
        object_names.register("grader", lambda principal: Grader.objects.live().visible_to(principal))
