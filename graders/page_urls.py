"""URL patterns of the grader pages."""

from django.urls import URLPattern, path

from graders.pages import asking, changing, detail, lists

urlpatterns: list[URLPattern] = [
    path("graders", lists.graders, name="graders"),
    path("marketplace", lists.marketplace, name="marketplace"),
    path("graders/new", changing.new, name="grader_new"),
    path("graders/<grader:grader_id>", detail.grader, name="grader"),
    path("graders/<grader:grader_id>/health", detail.checks, name="grader_health"),
    path("graders/<grader:grader_id>/settings", detail.settings, name="grader_settings"),
    path("graders/<grader:grader_id>/edit", changing.edit, name="grader_edit"),
    path("graders/<grader:grader_id>/switch", changing.switch, name="grader_switch"),
    path("graders/<grader:grader_id>/delete", changing.delete, name="grader_delete"),
    path("graders/<grader:grader_id>/verify", asking.verify, name="grader_verify"),
    path("graders/<grader:grader_id>/rotate", asking.rotate, name="grader_rotate"),
    path("graders/<grader:grader_id>/try", asking.attempt, name="grader_try"),
]
