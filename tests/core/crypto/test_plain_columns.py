"""Every column of text is either encrypted or named here with the reason why it is not."""

from django.apps import apps
from django.db import models

OURS = ("core", "access", "webhooks", "graders", "tasks", "scores", "exports")
SHORT = 200  # characters: names, ids, codes, words
PLAIN = {
    "access.ApiKey.networks": "addresses that a key is good from",
    "access.AuditEvent.actor": "an email address or the name of a job",
    "access.AuditEvent.fields": "names of members, never their values",
    "access.Membership.email": "invitations are found by it",
    "access.Role.description": "what a role is for",
    "access.Role.permissions": "words of ours",
    "access.User.email": "people log in by it",
    "exports.Export.dimensions": "names of dimensions, which exports select by",
    "exports.Export.left_out_by_reason": "Autotune's reasons and counts",
    "exports.Export.metadata": "ids and figures of a dataset",
    "exports.Export.query": "ids, dates and numbers to select by",
    "exports.ExportFile.facts": "ids and counts",
    "graders.Grader.description": "is searched",
    "graders.Grader.domains": "is shown to everybody who may choose it",
    "graders.Grader.endpoint": "is searched; a query is refused in it",
    "graders.Grader.pins": "digests of public keys",
    "graders.Grader.troubles": "words of ours",
    "graders.GraderGuard.state": "counters",
    "graders.GraderHour.errors": "codes of ours and counts",
    "graders.GraderHour.histogram": "counts",
    "graders.GraderHour.latencies": "counts",
    "graders.GraderStatistic.errors": "codes of ours and counts",
    "graders.GraderStatistic.histogram": "counts",
    "graders.GraderStatistic.latencies": "counts",
    "graders.Tally.errors": "codes of ours and counts",
    "graders.Tally.histogram": "counts",
    "graders.Tally.latencies": "counts",
    "scores.Review.dimensions": "names and numbers of dimensions, which exports select by",
    "scores.Score.dimensions": "names and numbers of dimensions, which exports select by",
    "scores.ScoreCount.bins": "counts",
    "scores.ScoreTally.units": "values of scores, which are plain beside it too",
    "scores.WorkflowRun.steps": "codes of ours and times",
    "tasks.Completion.external_id": "is unique and looked up",
    "tasks.Task.description": "is searched",
    "webhooks.Webhook.description": "is a name",
    "webhooks.Webhook.disabled_reason": "sentences of ours",
    "webhooks.Webhook.events": "words of ours",
}


def long_texts():
    """Columns that can hold text of customers."""
    for label in OURS:
        for model in apps.get_app_config(label).get_models():
            for field in model._meta.local_fields:
                name = f"{model._meta.label}.{field.name}"
                long = isinstance(field, models.CharField) and (field.max_length or 0) > SHORT
                if long or isinstance(field, (models.TextField, models.JSONField)):
                    yield name


def test_every_column_of_text_is_encrypted_or_has_a_reason_not_to_be():
    columns = set(long_texts())
    assert columns - PLAIN.keys() == set(), "encrypt it, or say here why it may be read in a dump"
    assert PLAIN.keys() - columns == set(), "is not there any more"
