"""The environment in which the server's own processes start, in either form."""

import socket
import stat

import pytest

from autotune.site.local import launch
from autotune.site.local.ports import PortInUse, free_port


@pytest.fixture(autouse=True)
def no_secrets_from_outside(monkeypatch):
    for name in launch.GENERATED_SECRETS:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


@pytest.fixture
def port():
    return free_port(range(18000, 19000))


def test_missing_secrets_are_created_once_and_readable_only_by_the_owner(tmp_path, port):
    base = {"PATH": "/bin", "DATABASE_URL": "postgres://elsewhere/autotune"}
    first = launch.environment(base, port=port, data=tmp_path, grader_ports=[])
    kept = {name: (tmp_path / name.lower()).read_text() for name in launch.GENERATED_SECRETS}
    second = launch.environment(base, port=port, data=tmp_path, grader_ports=[])
    for name, text in kept.items():
        file = tmp_path / name.lower()
        assert first[f"{name}_FILE"] == second[f"{name}_FILE"] == str(file)
        assert file.read_text() == text
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_existing_secrets_stay_unchanged(tmp_path, port):
    base = {"PATH": "/bin", "SECRET_KEY": "given", "AUTOTUNE_ENCRYPTION_KEYS_FILE": "/run/secrets/keys"}
    env = launch.environment(base, port=port, data=tmp_path, grader_ports=[])
    assert "SECRET_KEY_FILE" not in env
    assert env["AUTOTUNE_ENCRYPTION_KEYS_FILE"] == "/run/secrets/keys"
    assert list(tmp_path.iterdir()) == []


def test_graders_on_loopback_are_allowed_by_port_in_addition(tmp_path, port):
    base = {"PATH": "/bin", "AUTOTUNE_OUTBOUND_ALLOW": "10.0.0.0/8:443"}
    env = launch.environment(base, port=port, data=tmp_path, grader_ports=[9100])
    assert env["AUTOTUNE_OUTBOUND_ALLOW_GRADERS"] == "10.0.0.0/8:443,127.0.0.1/32:9100"
    assert env["AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS"] == ""
    env = launch.environment({"PATH": "/bin"}, port=port, data=tmp_path, grader_ports=[], webhook_ports=[9200])
    assert env["AUTOTUNE_OUTBOUND_ALLOW_GRADERS"] == ""
    assert env["AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS"] == "127.0.0.1/32:9200"


def test_c26_a_taken_port_is_refused_and_another_one_proposed_before_anything_starts(tmp_path):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        taken = server.getsockname()[1]
        with pytest.raises(PortInUse, match=f"port {taken} .* in use; choose another one: PORT=81"):
            launch.environment({"PATH": "/bin"}, port=taken, data=tmp_path, grader_ports=[])


def test_the_server_listens_on_loopback_only_and_the_callers_gunicorn_arguments_stay(tmp_path, port):
    base = {"PATH": "/bin", "GUNICORN_CMD_ARGS": "--log-level debug"}
    env = launch.environment(base, port=port, data=tmp_path, grader_ports=[])
    assert env["GUNICORN_CMD_ARGS"] == f"--bind 127.0.0.1:{port} --graceful-timeout 5 --log-level debug"


def test_the_processes_are_those_of_the_procfile():
    names = [process.name for process in launch.server_processes({})]
    assert names == ["web", "worker", "beat"]
    names = [process.name for process in launch.server_processes({}, workers=2)]
    assert names == ["web", "worker-1", "worker-2", "beat"]
    names = [process.name for process in launch.server_processes({"LIVE_PORT": "8001"})]
    assert names == ["web", "worker", "beat", "live"]
    commands = {process.name: process.command[-1] for process in launch.server_processes({})}
    assert commands["web"].startswith("exec gunicorn autotune.wsgi:application ")


def test_live_answers_reward_endpoints_where_it_has_a_port(tmp_path, port):
    env = launch.environment({"PATH": "/bin"}, port=port, data=tmp_path, grader_ports=[], live_port=8765)
    assert (env["LIVE_PORT"], env["LIVE_HOST"]) == ("8765", "127.0.0.1")
    assert env["AUTOTUNE_LIVE_URL"] == "http://localhost:8765"
    base = {"PATH": "/bin", "LIVE_PORT": "8001", "AUTOTUNE_LIVE_URL": "https://live.example.org"}
    env = launch.environment(base, port=port, data=tmp_path, grader_ports=[])
    assert (env["LIVE_PORT"], env["AUTOTUNE_LIVE_URL"]) == ("", "")


def test_a_procfile_line_is_a_name_and_a_command():
    text = "# comment\nweb: serve --port ${PORT:-8000}\n\nbeat: tick\n"
    assert launch.procfile(text) == {"web": "serve --port ${PORT:-8000}", "beat": "tick"}


def test_a_failed_command_reports_its_output(tmp_path, port):
    env = launch.environment({"PATH": "/bin"}, port=port, data=tmp_path, grader_ports=[])
    with pytest.raises(launch.CommandFailed, match=r"manage\.py no-such-command failed"):
        launch.manage(env, "no-such-command")
