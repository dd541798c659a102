"""The layouts that training frameworks load: preferences, kto, verl."""

import io
import json
from collections import Counter

import pyarrow.parquet as pq
import pytest

from autotune.access.principal import Principal
from autotune.core import clock
from exports import layouts
from exports.layouts import preferences
from exports.pairs import selection
from exports.reading import prompts, ranges
from exports.reading.prompts import PromptPosition
from exports.requests import ExportQuery
from scores.results import filters
from scores.retention import erasing
from tasks.models import Completion
from tests.factories import CompletionFactory, OrganizationFactory, ScoreFactory, TaskFactory, public
from tests.support.answering import answered

pytestmark = pytest.mark.django_db
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "2 + 2"}, {"type": "text", "text": "= ?"}]},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "user", "content": "And?"},
]
TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "2 + 2\n= ?"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "And?"},
]


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def lines(api, query):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 200, response.content
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]


def refused(api, query):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 400, response.content
    (error,) = response.json()["errors"]
    return error["pointer"], error["code"]


def answers(task, *values, prompt="p", **fields):
    return [answered(task, prompt, f"{prompt} {n}", value, **fields) for n, value in enumerate(values)]


def test_a_preference_row_has_the_shape_of_the_contract(api, task):
    worse, better = answers(task, 0.25, 1.0, prompt="2 + 2? \U0001f600")
    assert lines(api, "layout=preferences") == [
        {
            "prompt": "2 + 2? \U0001f600",
            "chosen": better.response,
            "rejected": worse.response,
            "chosen_score": 1.0,
            "rejected_score": 0.25,
            "metadata": {
                "task_id": public("task", task),
                "chosen_completion_id": public("comp", better),
                "chosen_model_id": "model-a",
                "rejected_completion_id": public("comp", worse),
                "rejected_model_id": "model-a",
            },
        }
    ]


def test_preferences_with_camel_case_names(api, task):
    answers(task, 0.25, 1.0)
    (row,) = lines(api, "layout=preferences&naming=camel")
    assert list(row)[3:] == ["chosenScore", "rejectedScore", "metadata"]
    assert list(row["metadata"])[:2] == ["taskId", "chosenCompletionId"]


def test_conversational_preferences_hold_the_messages_and_the_new_turns(api, task):
    answers(task, 0.25, 1.0, prompt="And?", messages=CHAT)
    (row,) = lines(api, "layout=preferences&conversational=true")
    assert row["prompt"] == TURNS
    assert row["chosen"] == [{"role": "assistant", "content": "And? 1"}]
    assert row["rejected"] == [{"role": "assistant", "content": "And? 0"}]
    answers(task, 0.25, 1.0, prompt="single")
    prompt_messages = [row["prompt"] for row in lines(api, "layout=preferences&conversational=true")]
    assert sorted(map(len, prompt_messages)) == [1, 4]
    assert [{"role": "user", "content": "single"}] in prompt_messages


def test_the_parameters_of_pairs_choose_them(api, task):
    answers(task, 0.1, 0.5, 0.9)
    answers(task, 0.4, 0.6, prompt="q")

    def rewards(query):
        return Counter(
            (row["chosen_score"], row["rejected_score"]) for row in lines(api, f"layout=preferences&{query}")
        )

    assert rewards("strategy=best_worst") == Counter([(0.9, 0.1), (0.6, 0.4)])
    assert rewards("strategy=all") == Counter([(0.9, 0.5), (0.9, 0.1), (0.5, 0.1), (0.6, 0.4)])
    assert rewards("strategy=all&minScoreDelta=0.4") == Counter([(0.9, 0.5), (0.9, 0.1), (0.5, 0.1)])
    assert rewards("strategy=all&capPerPrompt=1") == Counter([(0.9, 0.1), (0.6, 0.4)])
    assert sum(rewards("strategy=random&seed=4").values()) == 2
    assert rewards("strategy=random&seed=4") == rewards("strategy=random&seed=4")
    assert rewards("strategy=all&minReward=0.45") == Counter([(0.9, 0.5)])
    assert rewards("maxScore=0.5") == Counter([(0.5, 0.1)])
    assert rewards("modelId=another") == Counter()


def test_preferences_never_mix_tasks(api, task):
    other = TaskFactory(organization=api.organization)
    answered(task, "p", "a", 0.9)
    answered(other, "p", "b", 0.1)
    assert lines(api, "layout=preferences") == []
    answered(task, "p", "c", 0.2)
    answered(other, "p", "d", 0.8)
    rows = lines(api, "layout=preferences")
    assert [row["metadata"]["task_id"] for row in rows] == [public("task", task), public("task", other)]
    assert lines(api, f"layout=preferences&taskId={public('task', other)}") == rows[1:]


def test_nothing_of_other_organizations_is_exported(api, task):
    elsewhere = TaskFactory(organization=OrganizationFactory())
    answers(elsewhere, 0.1, 0.9)
    for layout in ("preferences", "kto", "verl"):
        assert lines(api, f"layout={layout}") == []


def test_an_operator_of_the_server_exports_all_organizations(admin_api, task):
    answers(task, 0.1, 0.9)
    answers(TaskFactory(organization=OrganizationFactory()), 0.1, 0.9)
    for layout, rows in (("preferences", 2), ("kto", 4), ("verl", 2)):
        assert len(lines(admin_api, f"layout={layout}")) == rows


def test_a_kto_row_is_labelled_by_the_threshold(api, task):
    score = ScoreFactory(run__completion__task=task, value=0.5)
    ScoreFactory(run__completion__task=task, value=0.49)
    good, bad = lines(api, "layout=kto")
    assert (good["label"], bad["label"]) == (True, False)
    assert (good["prompt"], good["completion"], good["score"]) == ("What is 2 + 2?", "4", 0.5)
    assert good["metadata"]["completion_id"] == public("comp", score.completion)
    assert good["metadata"]["grader_id"] == public("grader", score.grader)
    assert [row["label"] for row in lines(api, "layout=kto&threshold=0.51")] == [False, False]
    assert [row["label"] for row in lines(api, "layout=kto&threshold=0")] == [True, True]
    assert [row["label"] for row in lines(api, "layout=kto&per=grader")] == [True, False]


def test_conversational_kto_holds_the_messages_and_the_new_turn(api, task):
    answers(task, 0.9, prompt="And?", messages=CHAT)
    answers(task, 0.1)
    first, second = lines(api, "layout=kto&conversational=true")
    assert (first["prompt"], first["completion"]) == (TURNS, [{"role": "assistant", "content": "And? 0"}])
    assert second["prompt"] == [{"role": "user", "content": "p"}]


def test_a_verl_row_is_a_prompt_with_what_its_answers_were_rewarded(api, task):
    answers(task, 0.25, 0.5)
    newest = answered(task, "p", "x", 0.75, metadata={"ground_truth": "4", "ability": "math"})
    answered(task, "q", "x", 1.0, metadata={"answer": {"n": [1]}})
    rows = {row["extra_info"]["prompt_text"]: row for row in lines(api, "layout=verl")}
    assert sorted(row["extra_info"]["index"] for row in rows.values()) == [0, 1]
    extra = rows["p"].pop("extra_info")
    assert rows["p"] == {
        "data_source": f"autotune/{public('task', task)}",
        "prompt": [{"role": "user", "content": "p"}],
        "ability": "math",
        "reward_model": {"style": "model", "ground_truth": "4"},
    }
    assert {name: extra[name] for name in extra if name not in ("index", "dataset_id")} == {
        "split": "train",
        "prompt_text": "p",
        "sample_id": public("comp", newest),
        "task_id": public("task", task),
        "answers": 3,
        "reward_mean": 0.5,
        "reward_min": 0.25,
        "reward_max": 0.75,
        "messages": '[{"role":"user","content":"p"}]',
    }
    assert rows["q"]["reward_model"]["ground_truth"] == '{"n":[1]}'
    assert rows["q"]["ability"] == "general"


def test_verl_holds_the_messages_and_names_the_selection(api, task):
    answers(task, 0.9, prompt="And?", messages=CHAT)
    (row,) = lines(api, "layout=verl")
    assert row["prompt"] == TURNS
    assert row["reward_model"]["ground_truth"] == ""
    (same,) = lines(api, "layout=verl")
    (other,) = lines(api, "layout=verl&minReward=0.1")
    assert same["extra_info"]["dataset_id"] == row["extra_info"]["dataset_id"] != other["extra_info"]["dataset_id"]


def test_a_selection_without_rows_is_an_empty_file(api, task):
    for layout in ("preferences", "kto", "verl"):
        for kind in ("jsonl", "parquet"):
            response = api.get(f"/scores/export?layout={layout}&format={kind}")
            assert response.status_code == 200
            body = b"".join(response.streaming_content)
            assert body == b"" if kind == "jsonl" else body.startswith(b"PAR1")


@pytest.mark.parametrize(
    "layout", ["preferences", "preferences&conversational=true", "kto&conversational=true", "verl"]
)
def test_parquet_says_the_same_as_json_lines(api, task, layout):
    answers(task, 0.25, 1.0, prompt="2 + 2? \U0001f600\u2028")
    answers(task, 0.5, 0.75, prompt="And?", messages=CHAT)
    response = api.get(f"/scores/export?layout={layout}&format=parquet")
    table = pq.read_table(io.BytesIO(b"".join(response.streaming_content)))
    rows = table.to_pylist()
    if layout.startswith("kto"):
        for row in rows:
            row["metadata"]["scored_at"] = clock.wire(row["metadata"]["scored_at"])
    assert rows == lines(api, f"layout={layout}")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("layout=kto&minScoreDelta=0.1", "minScoreDelta"),
        ("layout=preferences&threshold=0.5", "threshold"),
        ("layout=verl&conversational=true", "conversational"),
        ("layout=verl&per=grader", "per"),
        ("layout=preferences&per=grader", "per"),
        ("strategy=all", "strategy"),
        ("layout=verl&format=tfrecord", "format"),
    ],
)
def test_a_parameter_of_another_layout_is_refused(api, query, name):
    assert refused(api, query) == (f"?{name}", "does_not_fit")


@pytest.fixture
def layout_of(api):
    """`layout_of("preferences", strategy="all")`, for the api's key."""
    key = api.api_key
    principal = Principal(key.organization, key.role, key.user, key)

    def make(name, **members):
        query = ExportQuery(layout=name, **members)
        return layouts.layout(query, filters.check(query, principal))

    return make


@pytest.mark.parametrize(
    ("choice", "statements"), [({}, 1), ({"strategy": "all"}, 3), ({"strategy": "all", "cap_per_prompt": 2}, 2)]
)
def test_prompts_with_few_pairs_are_read_together(task, layout_of, monkeypatch, choice, statements):
    monkeypatch.setattr(prompts, "RANGE_ROWS", 4)
    monkeypatch.setattr(preferences, "RANGE_PAIRS", 10)
    selections = []
    monkeypatch.setattr(
        selection, "of", lambda *arguments, of=selection.of: selections.append(of(*arguments)) or selections[-1]
    )
    for n in range(20):
        answered(task, f"prompt {n // 4}", f"answer {n}", n / 20)
    sum(batch.rows for batch in layout_of("preferences", **choice).batches())
    assert len([each for each in selections if each]) == statements


@pytest.mark.parametrize(
    ("name", "members"), [("preferences", {}), ("preferences", {"strategy": "all"}), ("kto", {}), ("verl", {})]
)
def test_reading_continues_after_any_batch(api, task, layout_of, monkeypatch, name, members):
    monkeypatch.setattr(prompts, "RANGE_ROWS", 5)
    monkeypatch.setattr(preferences, "RANGE_PAIRS", 5)
    monkeypatch.setattr(prompts, "TEXT_BYTES", 900)
    monkeypatch.setattr(ranges, "TEXT_BYTES", 900)
    other = TaskFactory(organization=api.organization)
    for n in range(60):
        answered((task, other)[n % 2], f"prompt {n % 14}", f"answer {n} {'x' * (n % 3 * 100)}", n % 11 / 10)
    whole = list(layout_of(name, **members).batches())
    assert len(whole) > 6
    assert layout_of(name, **members).expected() == sum(batch.rows for batch in whole)

    def rows(batches):
        return [row for batch in batches for row in zip(*batch.values[:3], strict=True)]

    def numbers(batches):
        return [number for batch in batches for number in batch.values[4][1]] if name == "verl" else []

    everything = rows(whole)
    assert len({str(row) for row in everything}) == (len(everything) if name != "verl" else 14)
    for at, batch in enumerate(whole):
        assert len(batch.cursor) <= 64
        rest = list(layout_of(name, **members).batches(batch.cursor))
        assert rows(rest) == rows(whole[at + 1 :])
        assert numbers(rest) == numbers(whole[at + 1 :])


def test_pairs_erased_between_selection_and_reading_are_counted(api, task, layout_of, monkeypatch):
    rows = answers(task, 0.1, 0.5, 0.9)
    sizes = prompts.sizes

    def then_erased(completions, **more):
        prompt_sizes = sizes(completions, **more)
        erasing.erase([rows[0].pk], end_unfinished=True)
        return prompt_sizes

    monkeypatch.setattr(prompts, "sizes", then_erased)
    (batch,) = layout_of("preferences", strategy="all").batches()
    assert (batch.rows, batch.left_out) == (1, 2)
    assert batch.values[3:5] == [[0.9], [0.5]]
    assert list(batch.scores) == [0.9, 0.5]
    assert (batch.first, batch.last) == (rows[1].pk, rows[2].pk)
    assert batch.models == {"model-a"}
    assert batch.tasks == {public("task", task)}


@pytest.mark.parametrize(
    ("name", "members"),
    [("kto", {"conversational": True}), ("preferences", {"conversational": True}), ("verl", {})],
)
def test_messages_count_towards_the_memory_limit(task, layout_of, monkeypatch, name, members):
    monkeypatch.setattr(ranges, "TEXT_BYTES", 4096)
    monkeypatch.setattr(prompts, "TEXT_BYTES", 4096)
    for prompt in ("p", "q"):
        messages = [{"role": "user", "content": "".join(f"{prompt}{n} " for n in range(2000))}]
        answers(task, 0.1, 0.9, prompt=prompt, messages=messages)
    assert {batch.rows for batch in layout_of(name, **members).batches()} == {1}


def test_a_position_fits_into_64_characters():
    from uuid import UUID

    place = PromptPosition(UUID(int=2**128 - 1), b"\xff" * 16, 999, 10**12)
    assert len(place.cursor()) <= 64
    assert PromptPosition.read(place.cursor()) == place
    assert PromptPosition.read("") == PromptPosition()


def test_completions_without_digests_wait_for_them(api, task):
    from tasks import filling

    for value in (0.1, 0.9):
        ScoreFactory(run__completion=CompletionFactory(task=task, response=f"{value}"), value=value)
    assert lines(api, "layout=preferences") == []
    filling.work()
    assert Completion.objects.filter(prompt_digest=None).count() == 0
    assert len(lines(api, "layout=preferences")) == 1
