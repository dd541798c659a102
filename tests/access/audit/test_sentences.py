"""Each act of the audit log has a verb of its own."""

import pytest

from autotune.access.audit.reading import sentences
from autotune.access.models import AuditEvent


def event(action, route="", *, method="POST", fields=None, **more):
    resource = action.partition(".")[0]
    shape = {"object_id": "x_1", "outcome": "succeeded", **more}
    return AuditEvent(action=action, resource=resource, route=route, method=method, fields=fields, **shape)


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (event("endpoint_graders.update", "/graders/:grader_id/rotate"), "rotated the secret of a grader"),
        (
            event("endpoint_graders.update", "/api/v1/graders/:grader_id/rotate-secret"),
            "rotated the secret of a grader",
        ),
        (event("endpoint_graders.update", "/api/v1/graders/:grader_id/verify"), "verified a grader"),
        (event("endpoint_graders.try", "/graders/:grader_id/try"), "tried a grader"),
        (event("endpoint_graders.update", "/graders/:grader_id/switch"), "switched a grader on or off"),
        (event("endpoint_graders.update", fields=["status"], method="PATCH"), "switched a grader on or off"),
        (event("endpoint_graders.update", fields=["endpoint", "name"]), "moved a grader to another address"),
        (event("webhooks.update", fields=["url"]), "moved a webhook to another address"),
        (event("webhooks.update", "/settings/webhooks/:webhook_id/test"), "sent a test event to a webhook"),
        (event("keys.update", "/api/v1/api-keys/:key_id/rotate"), "rotated an API key"),
        (event("endpoint_graders.delete", "/graders/:grader_id/delete"), "deleted a grader"),
        (event("tasks.create", "/api/v1/tasks"), "created a task"),
        (event("tasks.update", fields=["name"]), "changed a task"),
        (event("exports.create", "/exports/new"), "created an export"),
        (event("workflow_runs.update", "/api/v1/workflow-runs/:run_id/retry"), "retried a workflow run"),
        (event("endpoint_graders.read", "/graders/:grader_id/verify", method="GET"), "viewed a grader"),
        (event("members.remove_all"), "remove all a member"),
    ],
)
def test_an_act_is_described_by_its_own_verb(act, sentence):
    assert sentences.describe(act) == sentence
