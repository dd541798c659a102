from django.apps import AppConfig


class ExportsConfig(AppConfig):
    name = "exports"

    def ready(self) -> None:
        from exports import events, pair_answers
        from exports.work import withdrawing
        from scores.signals import score_deleted, texts_erased

        events.register()
        texts_erased.connect(withdrawing.receive, dispatch_uid="exports.withdraw")
        texts_erased.connect(pair_answers.forget, dispatch_uid="exports.forget_pairs")
        score_deleted.connect(withdrawing.receive_deleted, dispatch_uid="exports.withdraw_scores")
        score_deleted.connect(pair_answers.forget, dispatch_uid="exports.forget_scores")
