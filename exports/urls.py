"""Routes of this app below `/api/v1/`."""

from django.urls import URLPattern, path

from exports import job_api, pair_api
from exports.api import ExportView

urlpatterns: list[URLPattern] = [
    path("scores/export", ExportView.as_view()),
    path("exports", job_api.ExportsView.as_view()),
    path("exports/<exp:export_id>", job_api.ExportJobView.as_view()),
    path("exports/<exp:export_id>/cancel", job_api.ExportCancelView.as_view()),
    path("exports/<exp:export_id>/download", job_api.ExportDownloadView.as_view()),
    path("exports/<exp:export_id>/links", job_api.ExportLinksView.as_view()),
    path("preference-pairs", pair_api.PreferencePairsView.as_view()),
    path("downloads/<str:token>", job_api.LinkView.as_view()),
]
