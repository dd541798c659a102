from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "tasks"

    def ready(self) -> None:
        from autotune.access.audit.reading import object_names
        from autotune.access.frame import navigation
        from graders.signals import grader_audience, grader_retiring
        from tasks import audience
        from tasks.models import Task
        from tasks.navigation import PLACES
        from tasks.panels import keep_what_is_used

        navigation.register(*PLACES)
        grader_audience.connect(audience.of_grader, dispatch_uid="tasks.audience")
        grader_retiring.connect(keep_what_is_used, dispatch_uid="tasks.keep_what_is_used")
        object_names.register("task", lambda principal: Task.objects.visible_to(principal))
