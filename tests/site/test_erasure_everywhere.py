"""An erasure and a purge reach every encrypted column and every reference, or the register says why not.

A new model, encrypted column or UUID column fails here until `tests/support/references.py` names what becomes of it.
"""

from datetime import timedelta

import pytest
from django.apps import apps
from django.utils import timezone

from autotune.core.crypto import repairs
from autotune.core.models import DamagedValue
from scores.models import Review, WorkflowRun
from scores.retention import erasing, purging
from tasks.models import Completion
from tests.factories import OrganizationFactory
from tests.support import references as register
from tests.support.damaging import columns
from tests.support.referring import marked_columns, references, referring_columns, referring_world, subject_ids


def table_of(column: str) -> str:
    return column.rpartition(".")[0]


# --- the register and the models ------------------------------------------------------------------------------------


def test_the_register_lists_every_encrypted_column_and_no_other():
    assert register.ENCRYPTED.keys() == columns().keys()


def test_the_register_lists_every_uuid_column_and_no_other():
    assert register.REFERENCES.keys() & register.OTHER_IDS.keys() == set()
    assert register.REFERENCES.keys() | register.OTHER_IDS.keys() == references().keys()


def test_the_register_lists_every_table_once():
    with_columns = {table_of(name) for name in (*register.ENCRYPTED, *register.REFERENCES, *register.OTHER_IDS)}
    own = {model._meta.label for model in apps.get_models() if model._meta.app_label not in register.OTHER_APPS}
    assert with_columns & register.OTHER_TABLES.keys() == set()
    assert with_columns | register.OTHER_TABLES.keys() == own


def test_apps_of_others_have_no_encrypted_column_and_no_reference():
    assert register.OTHER_APPS.keys() <= {model._meta.app_label for model in apps.get_models()}
    labels = {name.partition(".")[0] for name in (*columns(), *references())}
    assert labels & register.OTHER_APPS.keys() == set()


def test_every_kept_column_has_a_reason():
    fates = {**register.ENCRYPTED, **register.REFERENCES}
    assert [name for name, fate in fates.items() if (fate.erased or fate.purged) and not fate.reason] == []
    assert [name for name, reason in {**register.OTHER_IDS, **register.OTHER_TABLES}.items() if not reason] == []


# --- the walk -------------------------------------------------------------------------------------------------------


@pytest.fixture
def completion_ids(db):
    """All completions of a world in which each column of the register holds text of one, or refers to one."""
    referring_world(OrganizationFactory(operating=True))
    return list(Completion.objects.values_list("pk", flat=True))


@pytest.fixture
def gone(completion_ids):
    """The ids of what is about to go: completions with their runs, scores, reviews and callbacks."""
    return subject_ids()


def test_the_world_fills_every_column(gone):
    assert marked_columns() == columns().keys(), "give the new column a value in tests/support/damaging.py"
    assert referring_columns(gone) == register.REFERENCES.keys(), "refer to a completion in tests/support/referring.py"


def staying(fates, act):
    return {name for name, fate in fates.items() if getattr(fate, act)}


def test_an_erasure_leaves_only_what_the_register_keeps(completion_ids, gone):
    outcome = erasing.erase(completion_ids, end_unfinished=True)
    assert set(outcome.gone) == set(completion_ids)
    assert marked_columns() == staying(register.ENCRYPTED, "erased")
    assert referring_columns(gone) == staying(register.REFERENCES, "erased")


def end_runs():
    """End the unfinished runs, as retention waits for it."""
    WorkflowRun.objects.exclude(status__in=("completed", "failed")).update(status="failed", waits_for="")
    Review.objects.filter(status="open").update(status="cancelled")


def test_a_purge_leaves_only_what_the_register_keeps(completion_ids, gone):
    end_runs()
    assert purging.purge(completion_ids, scored_before=timezone.now() + timedelta(days=1)) == len(completion_ids)
    assert marked_columns() == staying(register.ENCRYPTED, "purged")
    assert referring_columns(gone) == staying(register.REFERENCES, "purged")


def test_a_purge_after_an_erasure_leaves_no_more(completion_ids, gone):
    erasing.erase(completion_ids, end_unfinished=True)
    assert purging.purge(completion_ids, scored_before=timezone.now() + timedelta(days=1)) == len(completion_ids)
    assert marked_columns() == staying(register.ENCRYPTED, "purged")
    assert referring_columns(gone) == staying(register.REFERENCES, "purged")


@pytest.mark.parametrize("purges", [False, True], ids=["erased", "purged"])
def test_the_record_of_a_damaged_value_is_deleted_by_the_next_check(completion_ids, purges):
    erasing.erase(completion_ids, end_unfinished=True)
    if purges:
        purging.purge(completion_ids, scored_before=timezone.now() + timedelta(days=1))
    repairs.delete_repaired()
    assert not DamagedValue.objects.exists()
