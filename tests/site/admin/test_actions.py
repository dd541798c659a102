"""Actions of the administration call the API's capabilities, ask before permanent changes, and report the result."""

import pytest
from django.contrib.admin.models import LogEntry

from autotune.access.models import AuditEvent
from autotune.webhooks.models import Delivery, Webhook
from exports.models import Export
from graders.models import Grader, GraderCheck
from scores.models import LegalHold, Review, RewardEndpoint, WorkflowRun
from tasks.models import Task
from tests.factories import (
    DeliveryFactory,
    ExportFactory,
    GraderFactory,
    LegalHoldFactory,
    ReviewFactory,
    RewardEndpointFactory,
    RunFactory,
    TaskFactory,
    UserFactory,
    WebhookFactory,
)
from tests.site.admin.world import address
from tests.support.fakes import FakeGrader, serving

pytestmark = pytest.mark.django_db


def act(client, action, *rows, **more):
    body = {"action": action, "_selected_action": [str(row.pk) for row in rows], "index": 0, **more}
    answer = client.post(address(type(rows[0]), "changelist"), body, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_irreversible_actions_ask_first_and_name_the_rows(boss):
    export = ExportFactory()
    page = act(boss, "cancel", export)
    assert "Cancel these exports?" in page
    assert export.public_id in page
    assert Export.objects.get().status == "pending"
    assert "1 cancelled" in act(boss, "cancel", export, confirmed="yes")
    assert Export.objects.get().status == "cancelled"
    assert "0 cancelled; 1 refused: The export was already cancelled." in act(boss, "cancel", export, confirmed="yes")


@pytest.mark.parametrize(
    ("make", "action", "permissions"),
    [
        (ExportFactory, "cancel", ["view_export"]),
        (GraderFactory, "switch_off", ["view_grader"]),
        (GraderFactory, "verify", ["view_grader"]),
        (RunFactory, "cancel_runs", ["view_workflowrun"]),
        (WebhookFactory, "switch_off", ["view_webhook"]),
        (WebhookFactory, "send_test", ["view_webhook"]),
        (DeliveryFactory, "redeliver", ["view_delivery"]),
        (LegalHoldFactory, "release", ["view_legalhold"]),
        (RewardEndpointFactory, "switch_off", ["view_rewardendpoint"]),
        (ReviewFactory, "release_claims", ["view_review"]),
    ],
)
def test_read_only_staff_are_offered_no_action(staff, make, action, permissions):
    row = make()
    before = type(row).objects.values().get(pk=row.pk)
    page = act(staff(*permissions), action, row, confirmed="yes")
    assert f'value="{action}"' not in page
    assert type(row).objects.values().get(pk=row.pk) == before


def test_a_grader_is_verified_by_a_real_call(boss):
    with serving(FakeGrader()) as fake:
        grader = GraderFactory(endpoint=fake.url, status="inactive", verified_at=None)
        page = act(boss, "verify", grader)
    assert "1 verified" in page
    assert Grader.objects.get().status == "active"
    assert GraderCheck.objects.filter(grader=grader).exists()


def test_an_unreachable_grader_is_reported_with_its_checks(boss):
    with serving(FakeGrader()) as fake:
        url = fake.url
    page = act(boss, "verify", GraderFactory(endpoint=url, status="inactive", verified_at=None))
    assert "0 verified; 1 refused: Not verified. health: " in page
    assert Grader.objects.get().status == "inactive"


def test_calls_to_others_are_bounded(boss):
    graders = [GraderFactory() for _ in range(11)]
    assert "Nothing was done. Select at most 10 rows." in act(boss, "verify", *graders)
    assert not GraderCheck.objects.exists()


def test_several_refusals_are_reported_separately(boss):
    fine, bare = GraderFactory(status="inactive", switched_off=True), GraderFactory(status="inactive", verified_at=None)
    page = act(boss, "switch_on", fine, bare)
    assert "1 switched on; 1 refused: Only a verified grader can be active. Verify the grader first." in page
    assert bare.name in page


def test_runs_are_cancelled_after_confirmation(boss):
    run = RunFactory()
    assert "answers that arrive later are discarded" in act(boss, "cancel_runs", run)
    assert WorkflowRun.objects.get().status == "pending"
    assert "1 cancelled" in act(boss, "cancel_runs", run, confirmed="yes")
    assert WorkflowRun.objects.get().error_code == "cancelled"


def test_all_rows_of_a_list_can_be_selected_through_the_confirmation(boss):
    task = TaskFactory()
    runs = [RunFactory(completion__task=task) for _ in range(3)]
    page = act(boss, "cancel_runs", runs[0], select_across="1")
    assert '<input type="hidden" name="select_across" value="1">' in page
    assert "3 cancelled" in act(boss, "cancel_runs", runs[0], select_across="1", confirmed="yes")


def test_a_review_is_released_from_its_reviewer(boss):
    held, free = ReviewFactory(claimed_by=UserFactory()), ReviewFactory()
    page = act(boss, "release_claims", held, free)
    assert "1 released; 1 refused: Nobody holds it." in page
    assert Review.objects.get(pk=held.pk).claimed_by is None


def test_a_hold_is_released_once(boss):
    hold = LegalHoldFactory()
    assert "gone for good" in act(boss, "release", hold)
    act(boss, "release", hold, confirmed="yes")
    assert LegalHold.objects.get().released_by == boss.user
    assert "It was released before." in act(boss, "release", hold, confirmed="yes")


def test_reward_endpoints_are_switched_off_and_on(boss):
    endpoint = RewardEndpointFactory()
    act(boss, "switch_off", endpoint, confirmed="yes")
    assert not RewardEndpoint.objects.get().enabled
    act(boss, "switch_on", endpoint)
    assert RewardEndpoint.objects.get().enabled


def test_deliveries_are_redelivered_and_webhooks_disabled(boss):
    delivery = DeliveryFactory(status="parked")
    assert "1 due now" in act(boss, "redeliver", delivery)
    assert Delivery.objects.get().status == "pending"
    act(boss, "switch_off", delivery.webhook, confirmed="yes")
    assert Webhook.objects.get().status == "disabled"
    assert "0 due now; 1 refused: The webhook is disabled." in act(boss, "redeliver", delivery)


def test_a_task_is_archived_once(boss):
    task = TaskFactory()
    assert "1 archived" in act(boss, "archive", task)
    assert Task.objects.get().archived
    assert "The task is already archived." in act(boss, "archive", task)


def test_actions_are_in_the_history_and_the_audit_log(boss):
    grader = GraderFactory()
    act(boss, "switch_off", grader, confirmed="yes")
    assert LogEntry.objects.get().get_change_message() == "Switched off."
    assert "Switched off." in boss.get(address(Grader, "history", grader.pk)).content.decode()
    event = AuditEvent.objects.filter(action="admin.switch_off").last()
    assert (event.actor, event.objects_count) == (boss.user.email, 1)
