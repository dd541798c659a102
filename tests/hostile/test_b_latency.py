"""Row B44 of the list: a grader that always answers at the last moment."""

import pytest

from tests.scores.conftest import drain  # noqa: F401 - a fixture
from tests.support.misbehaving import COMPLETED, TIMEOUT_MS, Faces
from tests.support.rawserver import head, result, signature


@pytest.fixture
def faces(db, drain):  # noqa: F811
    return Faces(drain)


def test_b44_a_response_just_before_the_deadline_counts(faces):
    def late(connection, request):
        body = result(request)
        connection.closing.wait(TIMEOUT_MS / 1000 * 0.7)
        connection.write(head("200 OK", [("Content-Length", len(body)), *signature(request, body)]) + body)

    assert faces(late) == COMPLETED
