"""Routes of the pages of retention, holds and erasures; below /settings/retention."""

from django.urls import URLPattern, path

from scores.pages import retention, retention_erasures, retention_holds

urlpatterns: list[URLPattern] = [
    path("", retention.settings, name="retention"),
    path("/holds", retention_holds.every, name="legal_holds"),
    path("/holds/new", retention_holds.new, name="legal_hold_new"),
    path("/holds/<hold:hold_id>", retention_holds.one, name="legal_hold"),
    path("/erasures", retention_erasures.every, name="erasures"),
    path("/erasures/new", retention_erasures.new, name="erasure_new"),
]
