from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "autotune.access"
    label = "access"
    verbose_name = "Access"
