from django.apps import AppConfig
from django.core import checks


class SiteConfig(AppConfig):
    name = "autotune.site"
    label = "site"

    def ready(self) -> None:
        from autotune.access.frame import navigation
        from autotune.site.checks import trusted_proxies
        from autotune.site.navigation import PLACES

        navigation.register(*PLACES)
        checks.register(trusted_proxies, checks.Tags.security, deploy=True)
