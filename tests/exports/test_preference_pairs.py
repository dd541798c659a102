"""POST /preference-pairs: a sample of the pairs of a task, with their texts."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.access.models import StoredAnswer
from exports.pairs import sample as pairs_sample
from scores.retention import erasing
from tasks.models import Completion
from tests.factories import OrganizationFactory, TaskFactory, public
from tests.support.answering import answered

pytestmark = pytest.mark.django_db
PATH = "/preference-pairs"


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def pair_request(task, **members):
    return {"taskId": public("task", task), "minScoreDelta": 0.1, "sampleSize": 100, **members}


def ask(api, task, **members):
    answer = api.post(PATH, pair_request(task, **members))
    assert answer.status_code == 200, answer.content
    return answer.json()


def error(answer, status=400):
    assert answer.status_code == status, answer.content
    (field_error,) = answer.json()["errors"]
    return field_error["pointer"], field_error["code"]


def test_an_answer_has_the_shape_of_the_contract(api, task):
    answered(task, "2 + 2? \U0001f600\u2028", "4", 0.9)
    answered(task, "2 + 2? \U0001f600\u2028", "5\t\x7f", 0.2)
    answered(task, "3 + 3?", "6", 1.0)
    assert ask(api, task) == {
        "pairs": [
            {
                "prompt": "2 + 2? \U0001f600\u2028",
                "chosen": "4",
                "rejected": "5\t\x7f",
                "chosenScore": 0.9,
                "rejectedScore": 0.2,
            }
        ],
        "available": 1,
        "leftOut": 0,
        "leftOutByReason": {},
    }


def test_without_pairs_the_list_is_empty(api, task):
    assert ask(api, task) == {"pairs": [], "available": 0, "leftOut": 0, "leftOutByReason": {}}


def test_a_chosen_model_is_paired_only_with_itself(api, task):
    for n, (model, value) in enumerate((("a", 0.9), ("b", 0.1), ("a", 0.5))):
        answered(task, "p", str(n), value, model_id=model)
    (pair,) = ask(api, task, modelId="a")["pairs"]
    assert (pair["chosenScore"], pair["rejectedScore"]) == (0.9, 0.5)
    assert ask(api, task, modelId="b")["available"] == 0
    assert ask(api, task, modelId="no such model")["available"] == 0


def test_the_same_seed_gives_the_same_pairs(api, task):
    for n in range(12):
        for value in (0.1, 0.5, 0.9):
            answered(task, f"prompt {n}", f"answer {value}", value)
    first = ask(api, task, strategy="random", sampleSize=5, seed=1)
    assert len(first["pairs"]) == 5
    assert first["available"] == 12
    assert ask(api, task, strategy="random", sampleSize=5, seed=1) == first
    assert ask(api, task, strategy="random", sampleSize=5, seed=2) != first
    assert ask(api, task, strategy="all", sampleSize=5)["available"] == 36
    assert ask(api, task, strategy="all", sampleSize=5, capPerPrompt=2)["available"] == 24


def test_null_for_an_optional_member_counts_as_absent(api, task):
    answered(task, "p", "a", 0.9)
    answered(task, "p", "b", 0.1)
    left_out = dict.fromkeys(("modelId", "strategy", "capPerPrompt", "seed"))
    assert ask(api, task, **left_out) == ask(api, task)


@pytest.mark.parametrize(
    ("members", "pointer", "code"),
    [
        ({"minScoreDelta": 1.5}, "/minScoreDelta", "out_of_range"),
        ({"minScoreDelta": -0.1}, "/minScoreDelta", "out_of_range"),
        ({"minScoreDelta": "0.1"}, "/minScoreDelta", "wrong_type"),
        ({"minScoreDelta": True}, "/minScoreDelta", "wrong_type"),
        ({"sampleSize": 0}, "/sampleSize", "out_of_range"),
        ({"sampleSize": 10_001}, "/sampleSize", "out_of_range"),
        ({"capPerPrompt": 0}, "/capPerPrompt", "out_of_range"),
        ({"capPerPrompt": 1_001}, "/capPerPrompt", "out_of_range"),
        ({"capPerPrompt": 2}, "/capPerPrompt", "does_not_fit"),
        ({"capPerPrompt": 2, "strategy": "best_worst"}, "/capPerPrompt", "does_not_fit"),
        ({"seed": -1}, "/seed", "out_of_range"),
        ({"seed": 1.5}, "/seed", "wrong_type"),
        ({"strategy": "worst"}, "/strategy", "invalid_choice"),
        ({"taskId": "task_x"}, "/taskId", "malformed_id"),
        ({"modelId": ""}, "/modelId", "invalid_length"),
        ({"mode": 1}, "/mode", "unknown_field"),
    ],
)
def test_bad_input_is_refused_with_its_pointer(api, task, members, pointer, code):
    assert error(api.post(PATH, pair_request(task, **members))) == (pointer, code)


@pytest.mark.parametrize("name", ["taskId", "minScoreDelta", "sampleSize"])
def test_a_missing_member_is_named(api, task, name):
    body = pair_request(task)
    del body[name]
    assert error(api.post(PATH, body)) == (f"/{name}", "missing_field")


def test_a_task_of_others_is_404_with_its_pointer(api, task):
    other = TaskFactory(organization=OrganizationFactory())
    for value in (0.1, 0.9):
        answered(other, "p", str(value), value)
    assert error(api.post(PATH, pair_request(other)), 404) == ("/taskId", "not_found")


def test_roles_without_the_right_are_refused(api_for, task):
    for role in ("grader_owner", "reviewer"):
        assert api_for(role=role, organization=task.organization).post(PATH, pair_request(task)).status_code == 403


def test_a_role_limited_to_own_tasks_gets_only_their_pairs(api_for, api, task):
    from autotune.access.models import Role

    role = Role.objects.create(
        name="own pairs",
        organization=api.organization,
        permissions=[
            {"resource": "preference_pairs", "actions": ["create"], "scope": "own"},
            {"resource": "tasks", "actions": ["read"], "scope": "organization"},
        ],
    )
    mine = api_for(role=role, organization=api.organization)
    for value in (0.1, 0.9):
        answered(task, "theirs", str(value), value)
        answered(task, "mine", str(value), value, created_by=mine.user)
    (pair,) = ask(mine, task)["pairs"]
    assert pair["prompt"] == "mine"
    assert ask(api, task)["available"] == 2


def test_any_number_of_pairs_takes_few_queries(api, task):
    def queries():
        with CaptureQueriesContext(
            connection,
        ) as seen:
            ask(api, task, strategy="all")
        return len(seen)

    for value in (0.1, 0.9):
        answered(task, "p", str(value), value)
    few = queries()
    for n in range(30):
        answered(task, f"prompt {n % 6}", f"answer {n}", n / 30)
    assert queries() <= few


def test_texts_over_the_response_limit_are_refused(api, task, monkeypatch):
    monkeypatch.setattr(pairs_sample, "MAX_BYTES", 3_000)
    for n in range(4):
        for value in (0.1, 0.9):
            answered(task, f"prompt {n}", f"{value} {'x' * 500}", value)
    assert error(api.post(PATH, pair_request(task))) == ("/sampleSize", "out_of_range")
    assert len(ask(api, task, sampleSize=2)["pairs"]) == 2


def erase(completion):
    assert erasing.erase([completion.pk], end_unfinished=True).gone == [completion.pk]


def test_erased_texts_are_in_no_pair(api, task):
    answered(task, "p", "a", 0.9)
    erase(answered(task, "p", "b", 0.1))
    assert ask(api, task) == {"pairs": [], "available": 0, "leftOut": 0, "leftOutByReason": {}}


def test_a_text_erased_while_pairs_are_selected_is_left_out(api, task, monkeypatch):
    answered(task, "p", "a", 0.9)
    gone = answered(task, "p", "b", 0.1)
    checked = pairs_sample._check_size

    def then_erased(pairs):
        checked(pairs)
        erase(gone)

    monkeypatch.setattr(pairs_sample, "_check_size", then_erased)
    assert ask(api, task) == {"pairs": [], "available": 1, "leftOut": 1, "leftOutByReason": {"erased": 1}}


def test_the_same_key_is_answered_with_the_same_pairs(api, task):
    answered(task, "p", "a", 0.9)
    answered(task, "p", "b", 0.1)
    first = api.post(PATH, pair_request(task), idempotency_key="k")
    answered(task, "p", "c", 1.0)
    again = api.post(PATH, pair_request(task), idempotency_key="k")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()


def test_erasing_a_text_removes_the_stored_responses_of_its_task(api, task):
    other = TaskFactory(organization=api.organization)
    for sampled_task in (task, other):
        answered(sampled_task, "p", "b", 0.1)
        erased = answered(sampled_task, "p", "a", 0.9)
        assert api.post(PATH, pair_request(sampled_task), idempotency_key=f"k{sampled_task.pk}").status_code == 200
    erase(erased)
    assert api.post(PATH, pair_request(other), idempotency_key=f"k{other.pk}").status_code == 410
    assert api.post(PATH, pair_request(task), idempotency_key=f"k{task.pk}").status_code == 200


def test_an_answer_whose_text_is_erased_before_it_is_stored_is_not_stored(api, task, monkeypatch):
    gone = answered(task, "p", "the secret", 0.9)
    answered(task, "p", "b", 0.1)
    as_text = pairs_sample._as_text

    def then_erased(sample):
        answers = as_text(sample)
        erase(gone)
        return answers

    monkeypatch.setattr(pairs_sample, "_as_text", then_erased)
    assert api.post(PATH, pair_request(task), idempotency_key="k").status_code == 200
    (stored,) = StoredAnswer.objects.all()
    assert stored.answer is None
    assert api.post(PATH, pair_request(task), idempotency_key="k").status_code == 410


def test_no_transaction_is_open_while_pairs_are_selected(api, task, monkeypatch):
    """On the embedded engine it would keep every writer out."""
    answered(task, "p", "a", 0.9)
    depth = len(connection.savepoint_ids)
    seen = []
    sample = pairs_sample.pairs.sample

    def watched(*args):
        seen.append(len(connection.savepoint_ids))
        return sample(*args)

    monkeypatch.setattr(pairs_sample.pairs, "sample", watched)
    ask(api, task)
    assert seen == [depth]
    assert Completion.objects.count() == 1
