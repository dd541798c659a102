"""Routes of the pages of retention, holds and erasures; below /settings/retention."""

from django.urls import URLPattern, path

from scores.retention.pages import erasures, holds, overview

urlpatterns: list[URLPattern] = [
    path("", overview.settings, name="retention"),
    path("/holds", holds.every, name="legal_holds"),
    path("/holds/new", holds.new, name="legal_hold_new"),
    path("/holds/<hold:hold_id>", holds.legal_hold, name="legal_hold"),
    path("/erasures", erasures.every, name="erasures"),
    path("/erasures/new", erasures.new, name="erasure_new"),
]
