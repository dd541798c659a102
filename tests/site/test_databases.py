"""DATABASE_URL may name several hosts: a primary and its standbys."""

import pytest

from autotune.site.local import databases

ONE = "postgres://user:secret@one:5432/autotune"
SEVERAL = "postgres://user:secret@one:5432,two:5433/autotune?target_session_attrs=read-write"


def test_c39_several_hosts_have_a_label_of_their_own():
    labels = {databases.label({"DATABASE_URL": url}) for url in (ONE, SEVERAL, ONE.replace("one", "two"))}
    assert len(labels) == 3
    assert all(label.startswith("postgres-") and "secret" not in label for label in labels)


@pytest.mark.parametrize("same", [ONE.replace(":5432", ""), ONE.replace("user:secret", "another")])
def test_a_label_does_not_depend_on_the_user_or_on_naming_the_default_port(same):
    assert databases.label({"DATABASE_URL": same}) == databases.label({"DATABASE_URL": ONE})


def test_c39_another_database_of_several_hosts_keeps_the_hosts_and_options():
    expected = "postgres://user:secret@one:5432,two:5433/postgres?target_session_attrs=read-write"
    assert databases.sibling(SEVERAL, "postgres") == expected
