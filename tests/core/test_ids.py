"""Public ids are TypeIDs over UUIDv7: another implementation agrees, and what is not well formed is no id."""

from uuid import UUID

import pytest
from django.urls import Resolver404, resolve
from hypothesis import given
from hypothesis import strategies as st
from typeid import TypeID

from autotune.core import ids

UUIDS = st.integers(0, 2**128 - 1).map(lambda number: UUID(int=number))
GOOD = "task_01jd0000000000000000000000"


@given(UUIDS)
def test_an_id_is_what_another_implementation_writes(value):
    assert ids.encode("comp", value) == str(TypeID.from_uuid(value, "comp"))


@given(UUIDS, st.sampled_from(["org", "comp", "llmbatch"]))
def test_an_encoded_id_decodes_to_the_same_uuid(value, kind):
    assert ids.decode(kind, ids.encode(kind, value)) == value


@given(st.text())
def test_any_text_is_refused_or_names_one_uuid(text):
    try:
        value = ids.decode("task", text)
    except ValueError:
        return
    assert ids.encode("task", value) == text


def test_the_ends_of_the_range_are_ids():
    assert ids.encode("key", UUID(int=0)) == "key_" + "0" * 26
    assert ids.encode("key", UUID(int=2**128 - 1)) == "key_7" + "z" * 25


MALFORMED = {
    "empty": "",
    "no kind": "01jd0000000000000000000000",
    "no suffix": "task_",
    "another kind": GOOD.replace("task", "taskv"),
    "kind in capitals": GOOD.replace("task", "TASK"),
    "suffix in capitals": GOOD[:5] + GOOD[5:].upper(),
    "short": GOOD[:-1],
    "long": GOOD + "0",
    "beyond 128 bits": "task_8" + "0" * 25,
    "letters that are left out": GOOD[:-1] + "l",
    "space before": " " + GOOD,
    "line feed behind": GOOD + "\n",
    "two underscores": GOOD.replace("_", "__"),
    "a UUID": "0190163d-8694-739b-aea5-966c26f8ad91",
    "a UUID in braces": "{0190163d-8694-739b-aea5-966c26f8ad91}",
    "other digits": GOOD[:-1] + "٠",
    "SQL": "1 OR 1=1",
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_id_is_refused(text):
    with pytest.raises(ValueError, match="not a task_ id"):
        ids.decode("task", text)


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_id_on_a_path_matches_no_route(text):
    with pytest.raises(Resolver404):
        resolve(f"/api/v1/tasks/{text}/versions")


def test_a_path_converter_returns_the_uuid():
    assert resolve(f"/api/v1/tasks/{GOOD}/versions").kwargs == {"task_id": ids.decode("task", GOOD)}


def test_later_ids_sort_later():
    new_ids = [ids.new() for _ in range(1000)]
    assert new_ids == sorted(new_ids)
    assert {value.version for value in new_ids} == {7}
    written = [ids.encode("run", value) for value in new_ids]
    assert written == sorted(written)
