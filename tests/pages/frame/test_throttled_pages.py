"""Pages have the rate of a session; those that ask others have a tighter one."""

import pytest

from autotune.access.frame import acting
from autotune.access.frame.entry import PageRequest
from autotune.core.errors import TooManyRequests

pytestmark = pytest.mark.django_db


def test_a_throttled_session_learns_when_to_retry(visitor, settings):
    settings.KEY_RATE_PER_MINUTE = 20  # two at once
    client = visitor("organization_admin")
    answers = [client.get("/search") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    assert int(answers[-1]["Retry-After"]) >= 1
    assert "More than 20 requests a minute" in answers[-1].content.decode()


def test_pages_and_the_api_by_session_are_counted_together(visitor, settings):
    settings.KEY_RATE_PER_MINUTE = 20
    client = visitor("organization_admin")
    assert [client.get(path).status_code for path in ("/search", "/api/v1/tasks", "/search")] == [200, 200, 429]


def test_pages_that_call_other_servers_have_a_separate_rate(visitor, settings):
    settings.KEY_RATE_PER_MINUTE = 6_000
    request = PageRequest()
    request.user = visitor("organization_admin").user
    done = [acting.do(request, lambda n=n: n, calls_out=True) for n in range(acting.CALLS_OUT.burst)]
    assert done == list(range(acting.CALLS_OUT.burst))
    with pytest.raises(TooManyRequests):
        acting.do(request, lambda: None, calls_out=True)
    assert acting.do(request, lambda: "within a transaction") == "within a transaction"


def test_a_list_shows_a_hundred_rows_at_most(visitor):
    client = visitor("organization_admin")
    assert client.get("/completions?limit=1000").status_code == 200
    assert client.get("/tasks?limit=99999999999999999999").status_code == 200
