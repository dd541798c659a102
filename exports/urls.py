"""Routes of exports under `/api/v1/`."""

from django.urls import URLPattern, path

from exports.api import ExportView
from exports.pairs import api as pairs_api
from exports.work import api

urlpatterns: list[URLPattern] = [
    path("scores/export", ExportView.as_view()),
    path("exports", api.ExportsView.as_view()),
    path("exports/<exp:export_id>", api.ExportJobView.as_view()),
    path("exports/<exp:export_id>/cancel", api.ExportCancelView.as_view()),
    path("exports/<exp:export_id>/download", api.ExportDownloadView.as_view()),
    path("exports/<exp:export_id>/links", api.ExportLinksView.as_view()),
    path("preference-pairs", pairs_api.PreferencePairsView.as_view()),
    path("downloads/<str:token>", api.LinkView.as_view()),
]
