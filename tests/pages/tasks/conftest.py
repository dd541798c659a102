"""Tasks as their capability makes them, what a browser sends of a form, and a browser for one test.

The browser begins once a test has made its rows and ends with it: while Playwright's loop runs, Django has other
connections, which do not know the rows that the emptied tables must contain again.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.access.models import Role
from autotune.access.principal import Principal
from tasks import definitions
from tasks.requests import GraderId, NewTask, PanelEntry
from tests.factories import GraderFactory


def principal_of(client, role="organization_admin"):
    return Principal(client.organization, Role.objects.get(organization=None, name=role), client.user)


@pytest.fixture
def principal():
    """`principal(client, role="organization_admin")`: the visitor for capabilities."""
    return principal_of


@pytest.fixture
def make_task():
    """`make_task(client, graders=None, **members)`: a task through its capability, so that versions are real ones."""

    def make(client, graders=None, **members):
        graders = graders or [GraderFactory(organization=client.organization, name="Exact match")]
        definition = {"name": "Sums", "prompt_template": "What is {{a}} + {{b}}?"} | members
        panel = [PanelEntry(GraderId(grader.pk)) for grader in graders]
        return definitions.create(principal_of(client), NewTask(graders=panel, **definition))

    return make


@pytest.fixture
def aside():
    """`aside(work)`: what it returns, with a connection of its own, while a browser is open."""

    def run(work):
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        yield lambda work: pool.submit(run, work).result()


@pytest.fixture
def queries():
    """`queries(client, path)`: how many an answer took. Data keys do not count: a process keeps them once they are
    committed, which in a test they never are."""

    def count(client, path):
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        not_counted = ("core_datakey", "core_masterkey", "SAVEPOINT")
        return sum(not any(word in query["sql"] for word in not_counted) for query in seen)

    return count


@pytest.fixture
def filled():
    """`filled(response, **changes)`: what a browser would send of the form that was answered."""

    def fill(response, **changes):
        form = response.context["form"]
        data = {"rows": str(form.rows)}
        for name in form.fields:
            value = form[name].value()
            widget = form.fields[name].widget
            if widget.__class__.__name__ == "CheckboxInput":
                if value:
                    data[name] = "on"
                continue
            shown = form.fields[name].prepare_value(value)
            data[name] = "" if shown is None else str(shown)
        return {name: value for name, value in (data | changes).items() if value is not None}

    return fill
