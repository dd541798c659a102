"""`save_secret` writes a secret to a file that only its owner can read."""

import os
import stat

import pytest
from autotune_sdk.models.graders import Credentials, GraderRegistration
from autotune_sdk.models.webhooks import WebhookRegistration


@pytest.fixture(autouse=True)
def open_mask():
    mask = os.umask(0)
    yield
    os.umask(mask)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    "answer",
    [
        Credentials("grader_1", "atgs_x"),
        GraderRegistration(None, Credentials("grader_1", "atgs_x")),
        WebhookRegistration(None, "atgs_x"),
    ],
    ids=["credentials", "grader", "webhook"],
)
def test_c26_a_saved_secret_is_private(answer, tmp_path):
    answer.save_secret(tmp_path / "secret")
    assert (tmp_path / "secret").read_text() == "atgs_x\n"
    assert mode(tmp_path / "secret") == 0o600
    assert "atgs_x" not in repr(answer)


def test_a_file_that_others_can_read_is_replaced_by_a_private_one(tmp_path):
    file = tmp_path / "secret"
    file.write_text("old")
    file.chmod(0o644)
    Credentials("grader_1", "new").save_secret(file)
    assert (file.read_text(), mode(file)) == ("new\n", 0o600)


@pytest.mark.parametrize(
    "answer", [GraderRegistration(None, None), Credentials(None, None), WebhookRegistration(None, None)]
)
def test_an_answer_without_a_secret_saves_nothing(answer, tmp_path):
    with pytest.raises(Exception, match="rotate") as refusal:
        answer.save_secret(tmp_path / "secret")
    assert refusal.value.code == "no_secret"
    assert list(tmp_path.iterdir()) == []


def test_a_secret_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "secret").mkdir()
    with pytest.raises(OSError):
        Credentials("grader_1", "x").save_secret(tmp_path / "secret")
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
