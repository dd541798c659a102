"""All routes of the server. It names the apps by string and imports none of them."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from autotune.core import urls as converters

converters.register()

urlpatterns = [
    path("", include("autotune.access.accounts.urls")),  # before the admin site, whose login it replaces
    path("admin/", admin.site.urls),
    path("api/v1/", include("autotune.access.urls")),
    path("api/v1/", include("autotune.access.audit.urls")),
    path("api/v1/", include("autotune.webhooks.urls")),
    path("api/v1/", include("graders.urls")),
    path("api/v1/", include("tasks.urls")),
    path("api/v1/", include("scores.urls")),
    path("api/v1/", include("exports.urls")),
    path("settings", RedirectView.as_view(pattern_name="settings")),
    path("settings/", include("autotune.access.page_urls")),
    path("settings/audit", include("autotune.access.audit.page_urls")),
    path("settings/webhooks", include("autotune.webhooks.page_urls")),
    path("", include("graders.page_urls")),
    path("", include("tasks.page_urls")),
    path("", include("scores.page_urls")),
    path("", include("exports.page_urls")),
    path("", include("autotune.site.urls")),
]
handler400 = "autotune.site.failures.bad_request"
handler403 = "autotune.site.failures.forbidden"
handler404 = "autotune.site.failures.not_found"
handler500 = "autotune.site.failures.server_error"
