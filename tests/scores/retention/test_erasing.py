"""DELETE /completions/:id: the texts go, in every copy; what was found out stays."""

import json

import pytest

from autotune.access.models import StoredAnswer
from autotune.webhooks.events import fanout
from autotune.webhooks.models import Delivery, Event
from scores.models import Callback, CallbackItem, Review, Reward, Score, WorkflowRun
from scores.results import failure_codes
from scores.retention import erasing
from tasks.models import Completion
from tests.factories import (
    CallbackFactory,
    CompletionFactory,
    GraderFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    WebhookFactory,
    public,
)
from tests.scores.submitting import item, problems
from tests.support.calling_back import call_back, status_and_code
from tests.support.results import Bench, claim, state

TEXTS = ("prompt", "response", "messages")
MARK = "a-text-of-the-customer"


@pytest.fixture
def api(api_for, grader):
    return api_for(organization=grader.organization)


def delete(api, completion):
    return api.delete(f"/completions/{public('comp', completion)}").status_code


def test_every_copy_of_the_texts_is_erased_and_the_figures_stay(api, fake, task, grader, drain):
    fake.judge = lambda completion: {"value": 0.75, "confidence": 0.9, "reasoning": f"because {MARK}"}
    hook = WebhookFactory(organization=grader.organization, events=["score.completed"])
    body = item(task, prompt=f"{MARK}?", response=MARK, metadata={"m": MARK}, externalId="x")
    submitted = api.post("/completions", body, Idempotency_Key="k").json()["completion"]
    drain(grader)
    fanout.fan_out()
    delivery = Delivery.objects.get(webhook=hook)
    delivery.log = [{"at": "t", "status": 500, "latencyMs": 1.0, "error": None, "excerpt": MARK}]
    delivery.save(update_fields=["log"])
    before = api.get(f"/completions/{submitted['id']}").json()["completion"]
    reward = api.get(f"/completions/{submitted['id']}/score").json()["reward"]

    assert api.delete(f"/completions/{submitted['id']}").status_code == 204
    after = api.get(f"/completions/{submitted['id']}").json()["completion"]
    assert after == before | dict.fromkeys(TEXTS) | {"metadata": {}, "erasedAt": after["erasedAt"]}
    assert after["erasedAt"]
    assert after["status"] == "completed"
    scored = api.get(f"/completions/{submitted['id']}/score").json()
    assert (scored["reward"], scored["score"]["value"], scored["score"]["reasoning"]) == (reward, 0.75, None)

    completion = Completion.objects.get()
    assert (completion.content_digest, completion.metadata, completion.external_id) == (None, None, "x")
    event = Event.objects.get()
    assert (event.body, event.data) == (None, None)
    delivery.refresh_from_db()
    assert (delivery.status, delivery.log[0]["excerpt"]) == ("parked", None)
    assert list(StoredAnswer.objects.values_list("answer", "request_digest")) == [(None, b"")]
    again = api.post("/completions", body, Idempotency_Key="k")
    assert (again.status_code, again.json()["code"]) == (410, "erased")

    assert api.delete(f"/completions/{submitted['id']}").status_code == 204
    assert Completion.objects.get().erased_at == completion.erased_at


def test_an_export_leaves_it_out_and_lists_and_figures_have_it(api, task):
    scores = [ScoreFactory(run__completion__task=task, value=value) for value in (0.25, 0.75)]
    delete(api, scores[0].completion)
    answer = api.get("/scores/export")
    rows = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
    assert [row["score"] for row in rows] == [0.75]
    assert api.get("/scores/summary").json()["totalRecords"] == 2
    assert len(api.get("/completions?status=completed").json()["completions"]) == 2


def test_a_run_in_progress_ends_as_erased(api, task):
    sole = RunFactory(completion=CompletionFactory(task=task), status="sleeping")
    review = ReviewFactory(run__completion=CompletionFactory(task=task))
    for run in (sole, review.run):
        assert delete(api, run.completion) == 204
        assert state(run)[:2] == ("failed", "erased")
        reward = Reward.objects.get(pk=run.completion_id)
        assert (reward.value, reward.error_code) == (None, "erased")
    review.refresh_from_db()
    assert (review.status, review.reasoning, review.value) == ("cancelled", None, 0.25)
    shown = api.get(f"/workflow-runs/{public('run', sole)}").json()["workflowRun"]
    assert (shown["error"]["code"], shown["error"]["fault"]) == ("erased", "caller")
    assert shown["error"]["message"].startswith(erasing.MESSAGE)
    assert shown["steps"][-1]["step"] == "erasure"
    assert failure_codes.fault("erased") == "caller"


def test_a_shadow_run_ends_too_and_an_existing_reward_stays(api, task):
    score = ScoreFactory(run__completion__task=task)
    shadow = RunFactory(completion=score.completion, panel_size=0, status="waiting", waits_for="callback")
    delete(api, score.completion)
    assert state(shadow)[:2] == ("failed", "erased")
    assert Reward.objects.get().value == 0.5


def test_a_later_response_is_dropped(db, api_for):
    bench = Bench()
    run = bench.run()
    claimed = claim(run)
    erasing.erase([run.completion_id], end_unfinished=True)
    bench.save([bench.judged(claimed, reasoning="late")])
    assert state(run)[:2] == ("failed", "erased")
    assert not Score.objects.exists()


def test_the_graders_failure_message_is_erased(api, task):
    run = RunFactory(
        completion=CompletionFactory(task=task), status="failed", error_code="grader_error", error_message=MARK
    )
    delete(api, run.completion)
    run.refresh_from_db()
    assert (run.error_code, run.error_message) == ("grader_error", "")


def test_an_erased_completion_cannot_be_rescored(api, task):
    run = RunFactory(completion=CompletionFactory(task=task, external_id="x"), status="failed", error_code="timeout")
    delete(api, run.completion)
    for path in (
        f"/completions/{public('comp', run.completion)}/rescore",
        f"/workflow-runs/{public('run', run)}/retry",
    ):
        answer = api.post(path)
        assert (answer.status_code, answer.json()["code"]) == (409, "text_erased")
    answer = api.post("/completions", item(task, externalId="x"))
    assert problems(answer, 409) == [("/externalId", "external_id_conflict")]
    assert "was erased" in answer.json()["detail"]


def test_the_stored_response_to_a_decision_is_erased_with_its_texts(api, api_for, task):
    reviewer = api_for(organization=task.organization, role="reviewer")
    review = ReviewFactory(run__completion=CompletionFactory(task=task))
    path = f"/reviews/{review.public_id}"
    reviewer.post(f"{path}/claim", Idempotency_Key="1")
    decision = {"approved": True, "explanation": MARK}
    assert reviewer.post(f"{path}/decision", decision, Idempotency_Key="1").status_code == 200
    delete(api, review.completion)
    for answer in (
        reviewer.post(f"{path}/decision", decision, Idempotency_Key="1"),
        reviewer.post(f"{path}/claim", Idempotency_Key="1"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (410, "erased")
    shown = reviewer.get(path).json()["review"]
    assert [shown[name] for name in (*TEXTS, "reasoning", "explanation")] == [None] * 5
    assert (shown["value"], shown["status"]) == (0.25, "approved")
    assert Review.objects.get().explanation is None
    assert Score.objects.get().reasoning is None


def test_a_stored_answer_without_its_text_stays(api, task):
    body = {"completions": [item(task)]}
    first_answer = api.post("/completions/batch", body, Idempotency_Key="k").json()
    api.delete(f"/completions/{first_answer['completions'][0]['id']}")
    assert api.post("/completions/batch", body, Idempotency_Key="k").json() == first_answer


def test_the_callback_address_is_erased(api, task):
    run = RunFactory(completion=CompletionFactory(task=task), status="waiting", waits_for="callback", attempt=1)
    CallbackFactory(run=run)
    delete(api, run.completion)
    assert not Callback.objects.exists()
    assert not CallbackItem.objects.exists()


def test_the_other_items_of_a_batch_are_still_answered(api, api_for, fake, drain):
    fake.answers_later = True
    grader = GraderFactory(endpoint=fake.url, max_batch_size=2, supports_async=True)
    task = TaskFactory(organization=grader.organization, graders=[grader])
    erased, kept = (RunFactory(completion=CompletionFactory(task=task)) for _ in range(2))
    drain(grader)
    (request,) = fake.accepted
    owner = api_for(organization=grader.organization)
    delete(owner, erased.completion)
    reply = call_back(request, fake.judged(request))
    assert status_and_code(reply) == (200, "recorded")
    assert (state(erased)[1], state(kept)[0]) == ("erased", "completed")
    assert list(Score.objects.values_list("run", flat=True)) == [kept.pk]


def test_roles_that_may_erase(api_for, grader, task, operating):
    strangers = TaskFactory()
    roles = {"organization_admin": 204, "training_operator": 403, "reviewer": 403, "grader_owner": 403}
    for role, status in roles.items():
        completion = CompletionFactory(task=task)
        assert delete(api_for(organization=grader.organization, role=role), completion) == status, role
        completion.refresh_from_db()
        assert (completion.erased_at is not None) == (status == 204)
    admin_elsewhere = api_for(organization=grader.organization)
    assert delete(admin_elsewhere, CompletionFactory(task=strangers)) == 404
    assert delete(api_for(organization=operating, role="admin"), CompletionFactory(task=strangers)) == 204


def test_any_number_takes_one_statement_per_table(db, django_assert_max_num_queries):
    bench = Bench()
    runs = [bench.run(status="failed", error_code="timeout") for _ in range(30)]
    with django_assert_max_num_queries(30):
        outcome = erasing.erase([run.completion_id for run in runs], end_unfinished=True)
    assert len(outcome.gone) == 30
    assert WorkflowRun.objects.count() == 30
