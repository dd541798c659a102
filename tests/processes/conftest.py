"""One server for all of these tests, so that its start is paid for once."""

import pytest

from tests.support.serving import running_with, whole_server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    data = tmp_path_factory.mktemp("server")
    with whole_server(data) as running:
        yield running
    assert running_with(data) == []
