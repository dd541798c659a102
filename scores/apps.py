from django.apps import AppConfig


class ScoresConfig(AppConfig):
    name = "scores"

    def ready(self) -> None:
        from graders.signals import grader_queues
        from scores import event_examples, events
        from scores.grader_queues import waiting

        events.register()
        event_examples.register()
        grader_queues.connect(waiting, dispatch_uid="scores.queues")
