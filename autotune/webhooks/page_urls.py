"""Routes of the webhook pages below /settings/webhooks."""

from django.urls import URLPattern, path

from autotune.webhooks import pages

urlpatterns: list[URLPattern] = [
    path("", pages.every, name="webhooks"),
    path("/new", pages.new, name="webhook_new"),
    path("/<whk:webhook_id>", pages.webhook_page, name="webhook"),
    path("/<whk:webhook_id>/edit", pages.edit, name="webhook_edit"),
    path("/<whk:webhook_id>/test", pages.test, name="webhook_test"),
    path("/<whk:webhook_id>/switch", pages.switch, name="webhook_switch"),
    path("/<whk:webhook_id>/rotate", pages.rotate, name="webhook_rotate"),
    path("/<whk:webhook_id>/delete", pages.delete, name="webhook_delete"),
    path("/<whk:webhook_id>/deliveries/<dlv:delivery_id>/redeliver", pages.redeliver, name="webhook_redeliver"),
]
