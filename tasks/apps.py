from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "tasks"

    def ready(self) -> None:
        from graders.signals import grader_retiring
        from tasks.panels import keep_what_is_used

        grader_retiring.connect(keep_what_is_used, dispatch_uid="tasks.keep_what_is_used")
