from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "autotune.core"
    label = "core"
