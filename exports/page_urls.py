"""Routes of the pages of exports and preference pairs."""

from django.urls import URLPattern, path

from exports.pages import asking, job, listing, pairs

urlpatterns: list[URLPattern] = [
    path("exports", listing.exports, name="exports"),
    path("exports/new", asking.new, name="export_new"),
    path("exports/<exp:export_id>", job.export, name="export"),
    path("exports/<exp:export_id>/cancel", job.cancel, name="export_cancel"),
    path("exports/<exp:export_id>/link", job.link, name="export_link"),
    path("pairs", pairs.pairs, name="pairs"),
]
