from django.apps import AppConfig


class ScoresConfig(AppConfig):
    name = "scores"

    def ready(self) -> None:
        from graders.signals import grader_queues
        from scores import events
        from scores.grader_queues import waiting

        events.register()
        grader_queues.connect(waiting, dispatch_uid="scores.queues")
