from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "exports"

    def ready(self) -> None:
        from autotune.access.frame import navigation
        from exports import events
        from exports.navigation import PLACES
        from exports.pairs import sample
        from exports.work import withdrawing
        from scores.signals import score_deleted, texts_erased

        events.register()
        navigation.register(*PLACES)
        texts_erased.connect(withdrawing.receive, dispatch_uid="exports.withdraw")
        texts_erased.connect(sample.forget, dispatch_uid="exports.forget_pairs")
        score_deleted.connect(withdrawing.receive_deleted, dispatch_uid="exports.withdraw_scores")
        score_deleted.connect(sample.forget, dispatch_uid="exports.forget_scores")
