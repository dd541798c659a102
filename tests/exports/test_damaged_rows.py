"""A damaged row never stops an export: it is left out and counted as `unreadable`."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.access.principal import Principal
from autotune.core.crypto import encryption
from autotune.core.crypto.encryption import MasterKeyMissing
from exports import layouts
from exports.layouts import preferences
from exports.pairs import sample
from exports.pairs.requests import PairsRequest
from exports.reading import ranges
from exports.requests import ExportQuery
from scores.intake.requests import TaskId
from scores.results import filters
from tasks.models import Completion, TaskVersion
from tests.exports.test_conversations import lines, metadata, pairs, parquet_metadata
from tests.factories import TaskFactory
from tests.support.answering import answered
from tests.support.damaging import damage_row, restart

pytestmark = pytest.mark.django_db
PAIR_QUERIES = ("layout=preferences", "layout=preferences&conversational=true")
BOTH_FORMS = pytest.mark.parametrize("members", [{}, {"conversational": True}], ids=["text", "conversational"])


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization, system_prompt="Be brief.")


@pytest.fixture
def prompts(task):
    """Three prompts with two answers each: {prompt: (the better completion, the worse one)}."""
    return {prompt: answer_pair(task, prompt) for prompt in ("first", "second", "third")}


def answer_pair(task, prompt):
    return tuple(answered(task, prompt, f"{prompt} {value}", value) for value in (0.9, 0.1))


def new_version(task, system_prompt):
    """Give the task a further version, which its next completions have."""
    content = {**task.version.content, "systemPrompt": system_prompt}
    task.version = TaskVersion.objects.create(
        task=task, organization=task.organization, created_by=task.created_by,
        digest=f"{len(task.versions.all()):064}", content=content, aggregation="mean",
    )  # fmt: skip
    task.save(update_fields=["version"])


def damage(row, column):
    damage_row(row, column)
    restart()


def erase_before_reading(monkeypatch, completion):
    """Erase a text after the rows were chosen, and before their text is read."""
    stored_of = ranges.stored_of

    def erased_then_stored(*args):
        Completion.objects.filter(pk=completion.pk).update(prompt=None, response=None)
        return stored_of(*args)

    monkeypatch.setattr(ranges, "stored_of", erased_then_stored)


def assert_left_out(facts, rows, **reasons):
    assert facts["leftOutByReason"] == reasons
    assert (facts["totalRecords"], facts["leftOut"]) == (rows, sum(reasons.values()))


class TestPreferences:
    """Pairs are counted, not completions."""

    @pytest.mark.parametrize("query", PAIR_QUERIES)
    @pytest.mark.parametrize("column", ["prompt", "response"])
    @pytest.mark.parametrize("position", [0, 1], ids=["chosen", "rejected"])
    def test_a_pair_with_damaged_text_is_left_out_and_counted(self, api, prompts, query, column, position):
        damage(prompts["second"][position], column)
        rows = lines(api, query)
        assert sorted(text(row["prompt"]) for row in rows) == ["first", "third"]
        assert_left_out(metadata(api, query), 2, unreadable=1)

    def test_each_pair_of_a_damaged_completion_is_counted(self, api, task, prompts):
        answered(task, "second", "another", 0.5)
        damage(prompts["second"][0], "response")
        assert_left_out(metadata(api, "layout=preferences&strategy=all"), 3, unreadable=2)

    @pytest.mark.parametrize("query", PAIR_QUERIES)
    def test_pairs_of_a_damaged_task_version_are_left_out_and_counted(self, api, task, prompts, query):
        damaged = task.version
        new_version(task, "Be kind.")
        answer_pair(task, "fourth")
        damage(damaged, "content")
        (row,) = lines(api, query)
        assert text(row["prompt"]) == "fourth"
        facts = metadata(api, query)
        assert_left_out(facts, 1, unreadable=3)
        assert facts["systemPromptVersions"] == [task.version.public_id]

    @pytest.mark.parametrize("query", PAIR_QUERIES)
    def test_only_the_task_version_of_the_better_answer_is_needed(self, api, task, query):
        damaged = task.version
        answered(task, "p", "worse", 0.1)
        new_version(task, "Be brief.")
        answered(task, "p", "better", 0.9)
        damage(damaged, "content")
        (row,) = lines(api, query)
        assert text(row["chosen"]) == "better"
        assert_left_out(metadata(api, query), 1)

    @pytest.mark.parametrize("query", PAIR_QUERIES)
    def test_erased_and_damaged_pairs_are_counted_apart(self, api, prompts, monkeypatch, query):
        damage(prompts["first"][1], "response")
        erase_before_reading(monkeypatch, prompts["second"][0])
        assert_left_out(metadata(api, query), 1, unreadable=1, erased=1)

    def test_damage_is_counted_in_every_batch(self, api, task, prompts, monkeypatch):
        monkeypatch.setattr("exports.reading.prompts.RANGE_ROWS", 1)
        monkeypatch.setattr("exports.reading.prompts.TEXT_BYTES", 1)
        monkeypatch.setattr(preferences, "RANGE_PAIRS", 1)
        damaged = task.version
        damage(prompts["second"][1], "response")
        new_version(task, "Be kind.")
        answer_pair(task, "fourth")
        damage(damaged, "content")
        for query in PAIR_QUERIES:
            assert_left_out(metadata(api, query), 1, unreadable=3)


class TestVerl:
    """Prompts are counted. The text of a prompt is that of its newest completion."""

    QUERY = "layout=verl"

    @pytest.mark.parametrize("column", ["prompt", "messages", "metadata"])
    def test_a_prompt_with_damaged_text_is_left_out_and_counted(self, api, task, prompts, column):
        messages = [{"role": "user", "content": "fourth"}]
        damaged = answered(task, "fourth", "x", 0.5, messages=messages, metadata={"answer": "y"})
        damage(damaged, column)
        rows = lines(api, self.QUERY)
        assert sorted(row["extra_info"]["prompt_text"] for row in rows) == ["first", "second", "third"]
        assert sorted(row["extra_info"]["index"] for row in rows) == [0, 1, 2]
        assert_left_out(parquet_metadata(api, self.QUERY), 3, unreadable=1)

    def test_a_damaged_response_is_not_needed(self, api, prompts):
        damage(prompts["second"][1], "response")
        assert_left_out(parquet_metadata(api, self.QUERY), 3)

    def test_prompts_of_a_damaged_task_version_are_left_out_and_counted(self, api, task, prompts):
        damaged = task.version
        new_version(task, "Be kind.")
        answer_pair(task, "fourth")
        damage(damaged, "content")
        (row,) = lines(api, self.QUERY)
        assert [turn["content"] for turn in row["prompt"]] == ["Be kind.", "fourth"]
        assert_left_out(parquet_metadata(api, self.QUERY), 1, unreadable=3)

    def test_erased_damaged_and_unfit_prompts_are_counted_apart(self, api, task, prompts, monkeypatch):
        answered(task, "So?", "x", 0.5, messages=[{"role": "user", "name": "Kim", "content": "So?"}], form="tools")
        damage(prompts["first"][1], "prompt")
        erase_before_reading(monkeypatch, prompts["second"][1])
        assert_left_out(parquet_metadata(api, self.QUERY), 1, unreadable=1, erased=1, tools=1)


class TestPairAnswers:
    """POST /preference-pairs counts the pairs that its sample lost."""

    @BOTH_FORMS
    @pytest.mark.parametrize("column", ["prompt", "response"])
    @pytest.mark.parametrize("position", [0, 1], ids=["chosen", "rejected"])
    def test_a_pair_with_damaged_text_is_left_out_and_counted(self, api, task, prompts, members, column, position):
        damage(prompts["second"][position], column)
        answer = pairs(api, task, **members)
        assert sorted(text(pair["prompt"]) for pair in answer["pairs"]) == ["first", "third"]
        assert (answer["available"], answer["leftOut"], answer["leftOutByReason"]) == (3, 1, {"unreadable": 1})

    def test_conversational_pairs_of_a_damaged_task_version_are_left_out_and_counted(self, api, task, prompts):
        damaged = task.version
        new_version(task, "Be kind.")
        answer_pair(task, "fourth")
        damage(damaged, "content")
        answer = pairs(api, task, conversational=True)
        (pair,) = answer["pairs"]
        assert [message["content"] for message in pair["prompt"]] == ["Be kind.", "fourth"]
        assert (answer["available"], answer["leftOut"], answer["leftOutByReason"]) == (4, 3, {"unreadable": 3})

    def test_plain_pairs_include_nothing_of_the_task_version(self, api, task, prompts):
        damage(task.version, "content")
        answer = pairs(api, task)
        assert (len(answer["pairs"]), answer["leftOut"], answer["leftOutByReason"]) == (3, 0, {})

    @BOTH_FORMS
    def test_erased_damaged_and_unfit_rows_are_counted_apart(self, api, task, prompts, monkeypatch, members):
        answered(task, "So?", "x", 0.5, messages=[{"role": "user", "name": "Kim", "content": "So?"}], form="tools")
        damage(prompts["first"][1], "response")
        erase_before_reading(monkeypatch, prompts["second"][0])
        answer = pairs(api, task, **members)
        assert (len(answer["pairs"]), answer["leftOut"]) == (1, 3)
        assert answer["leftOutByReason"] == {"erased": 1, "tools": 1, "unreadable": 1}


@pytest.mark.parametrize("query", ["layout=records", "layout=kto", "layout=kto&conversational=true"])
def test_layouts_by_completion_leave_out_a_damaged_task_version_too(api, task, prompts, query):
    damaged = task.version
    new_version(task, "Be kind.")
    answer_pair(task, "fourth")
    damage(damaged, "content")
    assert_left_out(metadata(api, query), 2, unreadable=6)


@pytest.mark.parametrize("query", ["layout=records", "layout=kto", "layout=kto&conversational=true"])
def test_a_damaged_text_beside_a_damaged_task_version_is_left_out_too(api, task, query):
    answered(task, "first", "x", 0.5)
    damage(task.version, "content")
    new_version(task, "Be kind.")
    damage(answered(task, "second", "y", 0.5), "response")
    answered(task, "third", "z", 0.5)
    assert_left_out(metadata(api, query), 1, unreadable=2)


@pytest.mark.parametrize(
    "query",
    [
        ExportQuery(layout="preferences"),
        ExportQuery(layout="preferences", conversational=True),
        ExportQuery(layout="verl"),
    ],
    ids=["preferences", "conversational", "verl"],
)
def test_a_missing_master_key_stops_an_export(api, prompts, settings, query):
    selection = filters.check(query, principal(api))
    layout = layouts.layout(query, selection)
    lose_master_key(settings)
    with pytest.raises(MasterKeyMissing):
        list(layout.batches())


@BOTH_FORMS
def test_a_missing_master_key_stops_an_answer(api, task, prompts, settings, members):
    body = PairsRequest(task_id=TaskId(task.pk), min_score_delta=0.1, sample_size=10, **members)
    lose_master_key(settings)
    with pytest.raises(MasterKeyMissing):
        sample.answer(principal(api), body)


@pytest.mark.parametrize("query", [*PAIR_QUERIES, "layout=verl"])
def test_an_undamaged_export_reads_each_task_version_once(api, task, monkeypatch, query):
    monkeypatch.setattr("exports.reading.prompts.RANGE_ROWS", 1)
    monkeypatch.setattr("exports.reading.prompts.TEXT_BYTES", 1)
    monkeypatch.setattr(preferences, "RANGE_PAIRS", 1)
    for n in range(6):
        answer_pair(task, f"prompt {n}")
    with CaptureQueriesContext(connection) as queries:
        assert len(lines(api, query)) == 6
    assert len(version_reads(queries)) == 1


def test_an_undamaged_answer_reads_task_versions_once_and_only_for_conversations(api, task, prompts):
    for members, reads in (({}, 0), ({"conversational": True}, 1)):
        with CaptureQueriesContext(connection) as queries:
            assert len(pairs(api, task, **members)["pairs"]) == 3
        assert len(version_reads(queries)) == reads


def principal(api):
    key = api.api_key
    return Principal(key.organization, key.role, key.user, key)


def lose_master_key(settings):
    settings.AUTOTUNE_ENCRYPTION_KEYS, settings.AUTOTUNE_ENCRYPTION_KEYS_PATH = "k2:" + "cd" * 32, None
    encryption.keyring.clear()


def version_reads(queries):
    return [query for query in queries if '"tasks_taskversion"."content"' in query["sql"]]


def text(turns):
    """The text of a prompt or an answer, whether it is text or messages."""
    return turns if isinstance(turns, str) else turns[-1]["content"]
