from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class ScoresConfig(AppConfig):
    name = "scores"

    def ready(self) -> None:
        from autotune.access.frame import navigation
        from graders.signals import grader_error_texts, grader_queues
        from scores.counters import migrating
        from scores.engine.grader_queues import waiting
        from scores.navigation import PLACES
        from scores.results import event_examples, events
        from scores.workflow_runs import error_texts

        events.register()
        event_examples.register()
        navigation.register(*PLACES)
        grader_queues.connect(waiting, dispatch_uid="scores.queues")
        grader_error_texts.connect(error_texts.newest, dispatch_uid="scores.error_texts")
        pre_migrate.connect(migrating.drop_triggers, sender=self, dispatch_uid="scores.triggers")
        post_migrate.connect(migrating.restore_triggers, sender=self, dispatch_uid="scores.triggers")
