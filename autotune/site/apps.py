from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "autotune.site"
    label = "site"
