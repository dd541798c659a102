"""The register of references: what becomes of every encrypted column and every reference to a completion.

Each table, encrypted column and UUID column of the project is in exactly one list, and a table whose columns are in
none of them is in `OTHER_TABLES` with its reason. `tests/site/test_erasure_everywhere.py` compares the lists with the
models, and erases and purges what refers to completions. To add a column, name here what an erasure and a purge do to
it, and give it a value in `tests/support/referring.py`.
"""

from typing import NamedTuple


class Fate(NamedTuple):
    """What is left of a value, or of a reference to a completion or to its runs, scores, reviews and callbacks.

    erased, purged  whether it is still there after the text was erased, and after the rows were deleted
    reason          why it stays; empty for what does not
    """

    erased: bool
    purged: bool
    reason: str = ""


GONE = Fate(erased=False, purged=False)  # cleared, or deleted with its row
UNTIL_PURGED = Fate(erased=True, purged=False, reason="a fact about a completion that still counts")


def kept(reason: str) -> Fate:
    return Fate(erased=True, purged=True, reason=reason)


PROGRESS = kept("says how far a job came; ids are compared by order only")
NO_TEXT = "no text of a completion"

ENCRYPTED = {
    "access.StoredAnswer.answer": GONE,
    "access.SecondFactorSecret.secret": kept("a secret of a person"),
    "webhooks.Webhook.url": kept("an address that the organization entered"),
    "webhooks.Webhook.secret": kept("a secret of a webhook"),
    "webhooks.Webhook.previous_secret": kept("a secret of a webhook"),
    "webhooks.Event.data": GONE,
    "webhooks.Event.body": GONE,
    "webhooks.Delivery.log": GONE,  # its excerpts; times, status codes and latencies stay
    "graders.GraderSecret.secret": kept("a secret of a grader"),
    "graders.GraderCheck.detail": kept("about a check of the grader, which sends no completion of a customer"),
    "graders.GraderStatusChange.reason": kept("about the grader's health, not about a completion"),
    "tasks.Task.metadata": kept("the owner's notes on the task; changed with the task"),
    "tasks.TaskVersion.content": kept("defines the task; docs/retention.md says that an erasure does not reach it"),
    "tasks.Completion.prompt": GONE,
    "tasks.Completion.response": GONE,
    "tasks.Completion.messages": GONE,
    "tasks.Completion.metadata": GONE,
    "tasks.Completion.variables": GONE,
    "scores.WorkflowRun.error_message": GONE,
    "scores.AttemptEvidence.content": GONE,
    "scores.LegalHold.reason": kept("evidence of why text was kept"),
    "scores.Review.reasoning": GONE,
    "scores.Review.explanation": GONE,
    "scores.Review.details": GONE,
    "scores.Score.reasoning": GONE,
    "scores.Score.details": GONE,
    "feedback.Feedback.explanation": GONE,
    "exports.Export.file_key": GONE,
}

# UUID columns and foreign keys that may name a completion, or one of its runs, scores, reviews and callbacks.
REFERENCES = {
    "access.StoredAnswer.subject": kept("a repeat of the request gets 410 instead of being done again"),
    "core.DamagedValue.row": kept("the hourly check of damaged values deletes it once the value is gone"),
    "webhooks.Event.subject_id": kept("the log of deliveries lists the event, without its data"),
    "tasks.Task.erased_to": PROGRESS,
    "scores.WorkflowRun.completion": UNTIL_PURGED,
    "scores.WorkflowRun.reuses": UNTIL_PURGED,
    "scores.AttemptEvidence.run": UNTIL_PURGED,
    "scores.CallbackItem.callback": GONE,
    "scores.CallbackItem.run": GONE,
    "scores.Erasure.completion": kept("evidence that the erasure was requested"),
    "scores.Erasure.cursor": PROGRESS,
    "scores.LegalHold.completion": kept("evidence of what the hold covered"),
    "scores.LiveAnswer.completion": GONE,
    "scores.Review.run": UNTIL_PURGED,
    "scores.Review.completion": UNTIL_PURGED,
    "scores.Score.run": UNTIL_PURGED,
    "scores.Score.completion": UNTIL_PURGED,
    "scores.Score.reused_from": UNTIL_PURGED,
    "scores.Reward.completion": UNTIL_PURGED,
    "feedback.Feedback.completion": UNTIL_PURGED,
    "feedback.Feedback.review": UNTIL_PURGED,
    "exports.Export.purged_to": PROGRESS,
    "exports.ExportFile.first": GONE,
    "exports.ExportFile.last": GONE,
}

# UUID columns that name something else.
OTHER_IDS = {
    "access.AuditEvent.chain": "the organization whose audit log it is in, or the installation",
    "access.Membership.uid": "its own public id",
    "core.DataKey.scope": "the organization whose text it encrypts, or the installation",
    "exports.Export.storage_id": "the folder that holds its files",
    "graders.GraderCheck.uid": "its own public id",
    "graders.GraderStatusChange.uid": "its own public id",
    "graders.GraderHour.version_id": "the grader's version",
    "graders.GraderStatistic.version_id": "the grader's version",
    "graders.Tally.grader_id": "the grader",
    "graders.Tally.version_id": "the grader's version",
    "scores.Score.calibrated_map_id": "the score map",
    "scores.LiveAnswer.replaces": "a row of its own table, which goes with its completion",
    "scores.ScoreCount.grader_version_id": "the grader's version",
    "scores.ScoreCount.organization_id": "the organization",
    "scores.ScoreCount.task_id": "the task",
    "scores.ScoreTally.grader_version_id": "the grader's version",
    "scores.ScoreTally.organization_id": "the organization",
    "scores.ScoreTally.task_id": "the task",
    "scores.TaskTally.task_id": "the task",
}

# Tables without any of these columns.
OTHER_TABLES = {
    "access.ApiKey": NO_TEXT,
    "access.AuditChain": "the end of an audit log",
    "access.Organization": NO_TEXT,
    "access.Role": NO_TEXT,
    "access.Throttle": "counts of requests",
    "access.User": NO_TEXT,
    "access.WebSession": "a person's session",
    "core.MasterKey": NO_TEXT,
    "core.Reencryption": "the progress of re-encryption",
    "graders.Grader": "described by its owner",
    "graders.GraderGuard": "how fast the grader may be called",
    "graders.GraderVersion": NO_TEXT,
    "scores.Callback": "digests; deleted when all its runs are erased, and after its period at the latest",
    "scores.Pulse": "when jobs last worked",
    "scores.RewardEndpoint": "settings, and counts of items",
    "scores.TaskCount": "counts of a task's completions",
    "scores.UncountedTask": "the progress of counting",
    "tasks.PanelMember": "weights",
}

# Apps of others, whose tables hold people and schedules.
OTHER_APPS = {
    "account": "email addresses of people",
    "admin": "what staff changed, by the name of the object",
    "auth": "groups and permissions, which are not used",
    "axes": "failed logins",
    "contenttypes": "names of tables",
    "django_celery_beat": "schedules",
    "mfa": "second factors of people",
    "socialaccount": "single sign-on of people",
}
