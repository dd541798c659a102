"""Property: each row of each layout and format restores its submitted conversation, or the export counts it as left out.

Conversations are random: roles, tool calls and results, parts, system prompts of the task or of the conversation. They are
submitted as clients do, so the property covers the form that intake assigns.
"""

import io
import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.models import Completion
from tests.exports import tfrecords
from tests.factories import TaskFactory, public
from tests.support.answering import rewarded

pytestmark = pytest.mark.django_db
EMPTY = (None, "", [], {})
OF_VERL = {"jsonl": "jsonl", "json": "jsonl", "parquet": "parquet", "tfrecord": "parquet"}  # verl has two

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
words = st.sampled_from(["yes", "no", "add", "é\u2028\x85", '"\\'])
text_parts = st.builds(lambda text: {"type": "text", "text": text}, texts)
image_parts = st.just({"type": "image_url", "image_url": {"url": "https://i.example/x.png"}})
marked_parts = st.builds(lambda text: {"type": "text", "text": text, "cache_control": {"type": "e"}}, texts)
contents = st.one_of(
    texts, words, st.lists(text_parts, max_size=2), st.lists(text_parts | image_parts | marked_parts, max_size=2)
)
calls = st.lists(
    st.builds(
        lambda name, text: {"id": "c1", "type": "function", "function": {"name": name, "arguments": text}}, words, texts
    ),
    max_size=2,
)
spoken = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "developer"]), "content": contents},
    optional={"name": words | st.just(""), "refusal": st.none() | words, "annotations": st.just([])},
)
calling = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | texts, "tool_calls": calls},
    optional={"function_call": st.none() | st.just({"name": "f", "arguments": "{}"})},
)
results = st.fixed_dictionaries(
    {"role": st.sampled_from(["tool", "function"]), "content": texts},
    optional={"tool_call_id": words, "name": words},
)
plain = st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant"]), texts)
first = st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["system", "developer"]), texts)
asking = st.builds(lambda text: {"role": "user", "content": text}, contents)


def talk(turns):
    """Messages that end with one of a user."""
    return st.builds(
        lambda start, middle, end: [*start, *middle, end],
        st.lists(first, max_size=1),
        st.lists(turns, max_size=3),
        asking,
    )


conversations = st.one_of(texts, talk(plain), talk(st.one_of(plain, spoken, calling, results)))


def normal(message):
    """A message without empty members, and with the text of parts that are all text."""
    content = message.get("content")
    if isinstance(content, list) and all(part.keys() <= {"type", "text"} for part in content):
        content = "\n".join(part["text"] for part in content)
    others = {name: value for name, value in message.items() if name not in ("role", "content") and value not in EMPTY}
    return {"role": message["role"], "content": content or "", **others}


def whole(conversation, system_prompt):
    """The conversation with the system prompt in effect, from the submitted one."""
    messages = [{"role": "user", "content": conversation}] if isinstance(conversation, str) else conversation
    if system_prompt and messages[0]["role"] not in ("system", "developer"):
        messages = [{"role": "system", "content": system_prompt}, *messages]
    return messages


def decoded(message):
    """A message of a row as it was submitted."""
    if message.get("tool_calls"):
        message = {**message, "tool_calls": json.loads(message["tool_calls"])}
    return normal(message)


class Files:
    """Reads the rows of one selection in any layout and format, in the shape of JSON Lines."""

    def __init__(self, api, task):
        self.api, self.of_task = api, f"taskId={public('task', task)}"

    def content(self, query):
        response = self.api.get(f"/scores/export?{self.of_task}&{query}")
        assert response.status_code == 200, response.content
        return b"".join(response.streaming_content)

    def rows(self, query, kind):
        raw = self.content(f"{query}&format={kind}")
        match kind:
            case "jsonl":
                return [json.loads(line) for line in raw.decode().splitlines()]
            case "json":
                return json.loads(raw)["records"]
            case "parquet":
                return pq.read_table(io.BytesIO(raw)).to_pylist()
        return [self._row(features) for features in tfrecords.examples(raw)]

    def facts(self, query):
        raw = pq.read_schema(io.BytesIO(self.content(f"{query}&format=parquet"))).metadata
        return {name.decode(): json.loads(raw[name]) for name in raw if name not in (b"exportedAt", b"ARROW:schema")}

    def _row(self, features):
        texts = {name: value[0].decode() for name, value in features.items() if isinstance(value[0], bytes)}
        row = {name: text for name, text in texts.items() if "/" not in name}
        row["metadata"] = {name.partition("/")[2]: text for name, text in texts.items() if "/" in name}
        for name in ("prompt", "messages", "chosen", "rejected", "completion"):
            if name in row and "conversational" in self.query_of:
                row[name] = json.loads(row[name]) if row[name].startswith("[") else row[name]
        return row


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_c5_c7_c18_every_conversation_can_be_rebuilt_or_is_counted(api_for, data):
    talks = data.draw(st.lists(conversations, min_size=1, max_size=4))
    kind = data.draw(st.sampled_from(["jsonl", "json", "parquet", "tfrecord"]))
    system_prompt = data.draw(st.none() | st.sampled_from(["Be brief.", "é\u2029"]))
    with transaction.atomic():
        api = api_for(role="training_operator")
        task = TaskFactory(organization=api.organization, system_prompt=system_prompt)
        expected = submitted(api, task, talks, system_prompt)
        for layout in ("records", "kto", "preferences", "verl"):
            check(Files(api, task), layout, kind, expected, task, system_prompt)
        transaction.set_rollback(True)


def submitted(api, task, talks, system_prompt):
    """The conversation of each completion by its public id: two answers to each, as intake stored them."""
    items = [
        {
            "taskId": public("task", task), "modelId": "m", "response": f"{n} {answer}",
            **({"prompt": talk} if isinstance(talk, str) else {"messages": talk}),
        }
        for n, talk in enumerate(talks) for answer in "ab"
    ]  # fmt: skip
    answer = api.post("/completions/batch", {"completions": items})
    assert answer.status_code == 202, answer.content
    public_ids = [row["id"] for row in answer.json()["completions"]]
    by_id = {completion.public_id: completion for completion in Completion.objects.filter(task=task)}
    for n, name in enumerate(public_ids):
        rewarded(by_id[name], n / len(public_ids))
    return {
        name: whole(talk, system_prompt)
        for name, talk in zip(public_ids, [talk for talk in talks for _ in "ab"], strict=True)
    }


def check(files, layout, kind, expected, task, system_prompt):
    switches = {"verl": [""], "preferences": ["&strategy=all"]}.get(layout, [""])
    if layout != "verl":
        switches += [f"{switches[0]}&conversational=true", f"{switches[0]}&conversational=true&tools=true"]
    for switch in switches:
        query = f"layout={layout}{switch}"
        facts = files.facts(query)
        assert sum(facts["leftOutByReason"].values()) == facts["leftOut"]
        if system_prompt and facts["totalRecords"]:
            assert facts["systemPromptVersions"] == [task.version.public_id]
        files.query_of = query
        rows = files.rows(query, OF_VERL[kind] if layout == "verl" else kind)
        assert len(rows) == facts["totalRecords"], (query, kind)
        CHECKS[layout](rows, expected, facts, query, system_prompt)


def check_records(rows, expected, facts, query, system_prompt):
    for row in rows:
        conversation = expected[row["metadata"]["completion_id"]]
        if "conversational" in query:
            assert list(map(decoded, row["messages"])) == list(map(normal, conversation))
        else:
            assert json.loads(row["messages"]) == conversation
    assert len(rows) + facts["leftOut"] == len(expected)
    assert "conversational" in query or facts["leftOut"] == 0


def check_kto(rows, expected, facts, query, system_prompt):
    for row in rows:
        conversation = expected[row["metadata"]["completion_id"]]
        assert rebuilt(row["prompt"], query, system_prompt) == list(map(normal, conversation))
    assert len(rows) + facts["leftOut"] == len(expected)


def check_preferences(rows, expected, facts, query, system_prompt):
    paired = set()
    for row in rows:
        for side in ("chosen", "rejected"):
            name = row["metadata"][f"{side}_completion_id"]
            paired.add(name)
            assert rebuilt(row["prompt"], query, system_prompt) == list(map(normal, expected[name]))
    assert len(paired) + facts["leftOut"] == len(expected)


def check_verl(rows, expected, facts, query, system_prompt):
    for row in rows:
        conversation = expected[row["extra_info"]["sample_id"]]
        assert list(map(decoded, row["prompt"])) == list(map(normal, conversation))
        assert json.loads(row["extra_info"]["messages"]) == conversation
    answers = Counter(json.dumps(conversation, sort_keys=True) for conversation in expected.values())
    carried = {json.dumps(json.loads(row["extra_info"]["messages"]), sort_keys=True) for row in rows}
    assert len(set(answers) - carried) <= facts["leftOut"]


CHECKS = {"records": check_records, "kto": check_kto, "preferences": check_preferences, "verl": check_verl}


def rebuilt(prompt, query, system_prompt):
    """The conversation of a row, from its prompt."""
    if "conversational" in query:
        return list(map(decoded, prompt))
    return list(map(normal, whole(prompt, system_prompt)))
