from django.apps import AppConfig


class FeedbackConfig(AppConfig):
    name = "scores.feedback"
    label = "feedback"
    verbose_name = "Feedback"
