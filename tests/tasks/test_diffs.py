"""What differs between two versions of a task."""

import pytest

from autotune.access.models import Role
from autotune.access.principal import Principal
from tasks import definitions, diffs
from tasks.requests import GraderId, NewTask, PanelEntry, TaskPatch
from tests.factories import GraderFactory, OrganizationFactory, UserFactory


def kinds(change):
    return [(line.kind, line.text) for line in change.lines]


def test_each_line_is_kept_added_or_removed():
    change = diffs.text_change("Prompt template", "one\ntwo\nthree", "one\n2\nthree\nfour")
    assert kinds(change) == [
        ("same", "one"), ("removed", "two"), ("added", "2"), ("same", "three"), ("added", "four"),
    ]  # fmt: skip
    assert (change.added, change.removed, change.coarse) == (2, 1, False)
    assert [(line.before, line.after, line.mark) for line in change.lines] == [
        (1, 1, " "), (2, None, "−"), (None, 2, "+"), (3, 3, " "), (None, 4, "+"),
    ]  # fmt: skip


def test_lines_far_from_a_change_are_left_out_and_counted():
    old = [str(number) for number in range(40)]
    new = [*old[:20], "new", *old[20:]]
    change = diffs.text_change("x", "\n".join(old), "\n".join(new))
    assert kinds(change)[0] == ("skipped", "17 unchanged lines")
    assert kinds(change)[-1] == ("skipped", "17 unchanged lines")
    assert len(change.lines) == 2 + 6 + 1


def test_a_change_of_only_line_endings_is_shown_as_replaced():
    change = diffs.text_change("x", "a\nb", "a\nb\n")
    assert change.coarse
    assert kinds(change) == [("removed", "a"), ("removed", "b"), ("added", "a"), ("added", "b")]


@pytest.mark.parametrize("text", ["a\n" * 1_900, "\n".join(map(str, range(2_500)))])
def test_texts_that_would_take_long_to_compare_are_shown_as_replaced(text):
    assert diffs.text_change("x", text, f"b\n{text}").coarse


@pytest.mark.django_db
def test_members_are_shown_by_their_names_and_values():
    organization, user = OrganizationFactory(), UserFactory()
    principal = Principal(organization, Role.objects.get(organization=None, name="organization_admin"), user)
    first, second = (GraderFactory(organization=organization, name=name) for name in ("Exact", "Tone"))
    task = definitions.create(
        principal, NewTask("T", "{{a}}", graders=[PanelEntry(GraderId(first.pk))], response_schema={"b": 1, "a": 2})
    )
    old = task.version
    panel = [PanelEntry(GraderId(first.pk), 0.5), PanelEntry(GraderId(second.pk), 1.0)]
    patch = TaskPatch(
        prompt_template="{{a}}\nnow", graders=panel, aggregation="min", model="m", response_schema={"a": 2, "b": 1}
    )
    new = definitions.patch(principal, task, patch).version
    names = {first.pk: "Exact", second.pk: "Tone"}
    change = diffs.between(old, new, names)
    assert [text.name for text in change.texts] == ["Prompt template"]
    assert [(field.name, field.before, field.after) for field in change.fields] == [
        ("Model", "", "m"),
        ("Panel", "Exact: weight 1, scoring", "Exact: weight 0.5, scoring\nTone: weight 1, scoring"),
        ("Aggregation", "mean", "min"),
    ]
    assert diffs.names(old, new) == ["Prompt template", "Model", "Panel", "Aggregation"]
    assert diffs.between(new, new, names).is_none


def test_of_long_texts_that_are_shown_as_replaced_the_beginning_is_enough():
    old, new = "\n" * 1_048_576, "x\n" * 3_000
    change = diffs.text_change("x", old, new)
    assert len(change.lines) <= 2 * diffs.MOST_REPLACED + 2
    assert [line.text for line in change.lines if line.kind == "skipped"] == [
        "1048076 more removed lines", "2500 more added lines",
    ]  # fmt: skip
    assert (change.removed, change.added) == (1_048_576, 3_000)
    ends = diffs.text_change("x", old, old.replace("\n", "\r\n"))
    assert len(ends.lines) <= 2 * diffs.MOST_REPLACED + 2
