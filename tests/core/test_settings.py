"""Settings come from the environment, are safe when it is empty, and refuse to start when they would not be."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEYS = "k1:" + "1a" * 32
LONG = "a-random-text-of-fifty-characters-or-more-0123456789-abcdef"
PRODUCTION = {
    "DATABASE_URL": "postgres://user:hunter2@127.0.0.1:1/autotune",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "SECRET_KEY": LONG,
    "AUTOTUNE_ENCRYPTION_KEYS": KEYS,
    "AUTOTUNE_PUBLIC_URL": "https://autotune.example.org",
    "AUTOTUNE_TRUSTED_PROXIES": "10.0.0.0/8",
}
EVERY_NAME = re.findall(r"^([A-Z][A-Z0-9_]*)=", (ROOT / ".env.example").read_text(), re.MULTILINE)


@pytest.fixture
def start(tmp_path):
    """`start(code, **environment)`: a process with nothing else in its environment. (status, stdout, stderr)."""

    def run(*command, **environment):
        base = {"PATH": os.environ["PATH"], "AUTOTUNE_DATA_DIR": str(tmp_path / "data")}
        process = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=base | environment, capture_output=True, text=True, timeout=60
        )
        return process.returncode, process.stdout, process.stderr

    return run


@pytest.fixture
def read(start):
    """`read("DEBUG", …, **environment)`: what these settings are in a process of its own."""

    def ask(*names, **environment):
        code = f"import json; from autotune import settings as s; print(json.dumps({{n: getattr(s, n, None) for n in {names!r}}}, default=str))"
        status, out, err = start("-c", code, **environment)
        assert status == 0, err
        return json.loads(out)

    return ask


def test_an_empty_environment_is_safe_and_embedded(read, tmp_path):
    values = read(
        "DEBUG", "ALLOWED_HOSTS", "PUBLIC_URL", "HTTPS", "PRODUCTION", "DATABASES", "CELERY_BROKER_URL", "PORT",
        "AUTOTUNE_TRUSTED_PROXIES", "AUTOTUNE_OUTBOUND_ALLOW_GRADERS", "SESSION_COOKIE_HTTPONLY",
    )  # fmt: skip
    assert (values["DEBUG"], values["PRODUCTION"], values["HTTPS"], values["PORT"]) == (False, False, False, 8000)
    assert set(values["ALLOWED_HOSTS"]) == {"localhost", "127.0.0.1", "[::1]"}
    assert values["PUBLIC_URL"] == "http://localhost:8000"
    assert values["DATABASES"]["default"]["NAME"] == str(tmp_path / "data/autotune.sqlite3")
    assert values["CELERY_BROKER_URL"].startswith("autotune-files")
    assert (values["AUTOTUNE_TRUSTED_PROXIES"], values["AUTOTUNE_OUTBOUND_ALLOW_GRADERS"]) == ([], [])
    assert values["SESSION_COOKIE_HTTPONLY"] is True


@pytest.mark.parametrize(
    ("hosts", "host", "port"),
    [("one", "one", ""), ("one,two", "one,two", ""), ("one:5432,two:5433", "one,two", "5432,5433")],
)
def test_c39_the_database_may_be_on_one_of_several_hosts(read, hosts, host, port):
    url = f"postgres://user:hunter2@{hosts}/autotune?target_session_attrs=read-write&connect_timeout=7"
    database = read("DATABASES", **PRODUCTION | {"DATABASE_URL": url})["DATABASES"]["default"]
    assert (database["HOST"], database["PORT"], database["NAME"]) == (host, port, "autotune")
    options = database["OPTIONS"]
    assert (options["target_session_attrs"], options["connect_timeout"]) == ("read-write", 7)
    assert options["tcp_user_timeout"] > 0, "an option that the address omits has a default"


def test_passwords_are_hashed_with_argon2(read):
    """The tests themselves use a quick hash."""
    assert read("PASSWORD_HASHERS")["PASSWORD_HASHERS"] == ["django.contrib.auth.hashers.Argon2PasswordHasher"]


def test_a_variable_that_is_empty_counts_as_unset(read):
    """As a compose file passes what its host does not set."""
    names = (
        "DEBUG", "ALLOWED_HOSTS", "PUBLIC_URL", "PORT", "PRODUCTION", "REDIS_URL", "DB_POOL_SIZE",
        "AUTOTUNE_TRUSTED_PROXIES", "AUTOTUNE_OUTBOUND_ALLOW_GRADERS",
    )  # fmt: skip
    empty = dict.fromkeys([*EVERY_NAME, "SECRET_KEY_FILE", "DATABASE_URL_FILE"], "")
    assert read(*names, **empty | {"AUTOTUNE_DATA_DIR": read("DATA_DIR")["DATA_DIR"]}) == read(*names)


def test_c20_the_former_name_serves_for_graders_and_identity_and_never_for_webhooks(start):
    names = [f"AUTOTUNE_OUTBOUND_ALLOW_{kind}" for kind in ("GRADERS", "WEBHOOKS", "IDENTITY")]
    show = f"from autotune import settings as s; print(*(len(getattr(s, name)) for name in {names}))"
    former = {"AUTOTUNE_OUTBOUND_ALLOW": "10.0.0.0/8,127.0.0.1/32"}
    assert start("-c", show, **former)[1].split() == ["2", "0", "2"]
    both = former | {"AUTOTUNE_OUTBOUND_ALLOW_GRADERS": "10.0.0.0/8", "AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS": "10.0.0.0/8"}
    assert start("-c", show, **both)[1].split() == ["1", "1", "2"]


def test_generated_secrets_are_readable_only_by_the_owner_and_kept(read, tmp_path):
    first = read("SECRET_KEY", "AUTOTUNE_ENCRYPTION_KEYS")
    assert read("SECRET_KEY", "AUTOTUNE_ENCRYPTION_KEYS") == first
    assert len(first["SECRET_KEY"]) >= 50
    assert re.fullmatch(r"k1:[0-9a-f]{64}", first["AUTOTUNE_ENCRYPTION_KEYS"])
    for name, value in first.items():
        file = tmp_path / "data" / name.lower()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().strip() == value
    assert read("SECRET_KEY", AUTOTUNE_DATA_DIR=str(tmp_path / "other"))["SECRET_KEY"] != first["SECRET_KEY"]


def test_processes_that_start_together_agree_on_the_secrets(tmp_path):
    code = "from autotune import settings as s; print(s.SECRET_KEY, s.AUTOTUNE_ENCRYPTION_KEYS)"
    environment = {"PATH": os.environ["PATH"], "AUTOTUNE_DATA_DIR": str(tmp_path)}
    starting = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in starting}) == 1
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", ["SECRET_KEY", "AUTOTUNE_ENCRYPTION_KEYS"])
@pytest.mark.parametrize("value", [None, "", "   "])
def test_the_production_form_does_not_start_without_its_secrets(start, tmp_path, name, value):
    environment = {key: setting for key, setting in PRODUCTION.items() if key != name}
    if value is not None:
        environment[name] = value
    status, _, err = start(
        "-c", "import django; django.setup()", DJANGO_SETTINGS_MODULE="autotune.settings", **environment
    )
    assert status != 0
    assert f"{name} is not set. With DATABASE_URL it is required" in err
    assert "hunter2" not in err
    assert not list(tmp_path.glob("data/*key*"))


def test_the_entry_points_of_the_processes_refuse_missing_secrets_too(start):
    lacking = {key: setting for key, setting in PRODUCTION.items() if key != "SECRET_KEY"}
    for command in (
        ["-c", "import autotune.wsgi"],
        ["-m", "celery", "--app", "autotune", "report"],
        ["manage.py", "check"],
    ):
        status, out, err = start(*command, **lacking)
        assert status != 0, command
        assert "SECRET_KEY is not set" in out + err


def test_a_secret_may_come_from_a_file(read, tmp_path):
    environment = {}
    for name in ("SECRET_KEY", "AUTOTUNE_ENCRYPTION_KEYS", "DATABASE_URL", "REDIS_URL"):
        file = tmp_path / name
        file.write_text(PRODUCTION[name] + "\n")
        environment[f"{name}_FILE"] = str(file)
    values = read("SECRET_KEY", "AUTOTUNE_ENCRYPTION_KEYS", "DATABASE_URL", "REDIS_URL", **environment)
    assert values == {name: PRODUCTION[name] for name in values}


def test_a_missing_secret_file_is_named(start):
    status, _, err = start("-c", "import autotune.settings", SECRET_KEY_FILE="/nowhere/key")
    assert status != 0
    assert "ImproperlyConfigured: SECRET_KEY_FILE cannot be read" in err


def test_check_deploy_is_clean_in_production_form_with_an_https_address(start):
    status, out, err = start("manage.py", "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert (status, out.strip()) == (0, "System check identified no issues (0 silenced)."), err


def test_an_https_address_turns_the_tls_settings_on(read):
    names = (
        "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE",
        "CSRF_TRUSTED_ORIGINS", "ALLOWED_HOSTS",
    )  # fmt: skip
    assert set(read(*names[:-1]).values()) == {None}
    values = read(*names, AUTOTUNE_PUBLIC_URL="https://autotune.example.org/")
    assert all(values.values())
    assert values["CSRF_TRUSTED_ORIGINS"] == ["https://autotune.example.org"]
    assert "autotune.example.org" in values["ALLOWED_HOSTS"]


@pytest.mark.parametrize(
    ("text", "debug"),
    [("true", True), ("1", True), ("On", True), ("false", False), ("0", False), ("nonsense", False), ("-1", False)],
)
def test_debug_is_off_by_default(read, text, debug):
    assert read("DEBUG", DEBUG=text) == {"DEBUG": debug}


def test_lists_may_have_spaces_after_their_commas(read):
    values = read(
        "ALLOWED_HOSTS",
        "AUTOTUNE_TRUSTED_PROXIES",
        ALLOWED_HOSTS=" a.example.org, b.example.org,",
        AUTOTUNE_TRUSTED_PROXIES="10.0.0.0/8 ,  2001:db8::/32",
    )
    assert values["ALLOWED_HOSTS"] == ["a.example.org", "b.example.org"]
    assert values["AUTOTUNE_TRUSTED_PROXIES"] == ["10.0.0.0/8", "2001:db8::/32"]


def test_the_port_is_in_the_default_address(read):
    assert read("PUBLIC_URL", PORT="9001") == {"PUBLIC_URL": "http://localhost:9001"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AUTOTUNE_PUBLIC_URL", "autotune.example.org"),
        ("AUTOTUNE_PUBLIC_URL", "ftp://autotune.example.org"),
        ("AUTOTUNE_PUBLIC_URL", "https://"),
        ("AUTOTUNE_OUTBOUND_ALLOW", "everything"),
        ("AUTOTUNE_OUTBOUND_ALLOW_GRADERS", "everything"),
        ("AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS", "10.0.0.0/8:1-70000"),
        ("AUTOTUNE_OUTBOUND_ALLOW_IDENTITY", "[::1]/128:0"),
        ("AUTOTUNE_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("AUTOTUNE_TRUSTED_PROXIES", "proxy"),
        ("DATABASE_URL", "mysql://user:hunter2@localhost/autotune"),
        ("DATABASE_URL", "sqlite:///autotune.sqlite3"),
        ("AUTOTUNE_ENCRYPTION_KEYS", "k1:hunter2"),
        ("AUTOTUNE_ENCRYPTION_KEYS", f"{KEYS},{KEYS}"),
        ("AUTOTUNE_REVIEW_DAYS", "0"),
        ("AUTOTUNE_REVIEW_DAYS", "366"),
        ("AUTOTUNE_REVIEW_DAYS", "a month"),
    ],
)
def test_an_invalid_value_is_refused_with_its_variable(start, name, value):
    status, _, err = start("-c", "import autotune.settings", **PRODUCTION | {name: value})
    assert status != 0
    assert f"ImproperlyConfigured: {name}" in err
    assert "hunter2" not in err
