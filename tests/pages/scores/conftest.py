"""Playwright and Django in one thread: its loop runs where the tests do, and the roles come back after each of them."""

import pytest
from django.db import connection


@pytest.fixture(scope="session")
def written_by_migrations(django_db_setup):
    """Taken before Playwright's loop runs, in which Django has another connection object."""
    return getattr(connection, "_test_serialized_contents", None)


@pytest.fixture(autouse=True)
def _roles_come_back(written_by_migrations):
    if written_by_migrations is not None:
        connection._test_serialized_contents = written_by_migrations
