"""Reads settings from the environment: secrets from NAME or NAME_FILE, or generated once if that is allowed."""

import ipaddress
import os
import re
import secrets
import ssl
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from django.core.exceptions import ImproperlyConfigured

from autotune.core.outbound.addresses import AllowedNetwork, parse_allow

TLS_FILES = frozenset({"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"})


def secret(name: str) -> str:
    """Return the value of NAME, or the text of the file that NAME_FILE names, or ''.

    raises ImproperlyConfigured if that file cannot be read
    """
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as exc:
            raise ImproperlyConfigured(f"{name}_FILE cannot be read: {exc}") from exc
    return os.environ.get(name, "").strip()


def listed(name: str) -> list[str]:
    """Return the comma-separated entries of NAME, without the spaces around them."""
    return [entry for part in os.environ.get(name, "").split(",") if (entry := part.strip())]


def networks(name: str) -> list[str]:
    """Return the entries of NAME, each a network such as 10.0.0.0/8.

    raises ImproperlyConfigured if one is not
    """
    entries = listed(name)
    for entry in entries:
        try:
            ipaddress.ip_network(entry)
        except ValueError as exc:
            raise ImproperlyConfigured(f"{name}: {exc}.") from exc
    return entries


def allowances(name: str) -> tuple[AllowedNetwork, ...]:
    """Return the entries of NAME, each a network with optional ports such as 127.0.0.1/32:9100-9199.

    raises ImproperlyConfigured for a malformed entry
    """
    try:
        return parse_allow(os.environ.get(name, ""))
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name}: {exc}") from exc


def whole_number(name: str, default: int, *, least: int = 1, most: int) -> int:
    """Return the number NAME, or `default` if it is not set.

    raises ImproperlyConfigured if it is not a whole number from `least` to `most`
    """
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ImproperlyConfigured(f"{name} must be a whole number from {least} to {most}.")
    return int(text)


def one_of(name: str, words: tuple[str, ...]) -> str:
    """Return the word NAME, or the first of `words` if it is not set.

    raises ImproperlyConfigured if it is none of them
    """
    word = os.environ.get(name, "").strip().lower() or words[0]
    if word not in words:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(words)}.")
    return word


def bucket(name: str) -> tuple[str, str] | None:
    """Return (bucket, prefix) of NAME, an address such as s3://bucket or s3://bucket/prefix; None if it is not set.

    raises ImproperlyConfigured if it is another kind of address
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    match = re.fullmatch(r"s3://([A-Za-z0-9._-]{3,63})(?:/([A-Za-z0-9._/-]*))?", text)
    if match is None:
        raise ImproperlyConfigured(f"{name} must be s3://bucket or s3://bucket/prefix.")
    return match[1], (match[2] or "").strip("/")


def kept_secret(name: str, *, data_dir: Path, required: bool, hint: str) -> str:
    """Return the secret NAME; in the embedded setup, one that is made once and kept in `data_dir` (mode 0600).

    raises ImproperlyConfigured if it is `required` (production form) and not set
    """
    if value := secret(name):
        return value
    if required:
        raise ImproperlyConfigured(f"{name} is not set. With DATABASE_URL it is required: {hint}")
    path = data_dir / name.lower()
    if not path.exists():
        _write_once(path, new_secret(name))
    return path.read_text(encoding="ascii").strip()


def broker_tls(url: str) -> dict[str, object] | None:
    """Return how Celery verifies the server of a `rediss://` address; None without TLS.

    The address may name `ssl_ca_certs`, a private authority's file, and a client's `ssl_certfile` and `ssl_keyfile`.

    raises ImproperlyConfigured for any other TLS option: verification cannot be switched off
    """
    parts = urlsplit(url)
    options = {name: value for name, value in parse_qsl(parts.query) if name.startswith("ssl")}
    if unknown := sorted(options.keys() - TLS_FILES):
        raise ImproperlyConfigured(
            f"REDIS_URL: {unknown[0]} is not supported. Autotune always verifies the certificate; "
            "for a private authority, set ssl_ca_certs=/path/ca.pem."
        )
    if parts.scheme != "rediss":
        if options:
            raise ImproperlyConfigured("REDIS_URL: TLS options need an address that starts with rediss://.")
        return None
    for name, path in options.items():
        if not os.access(path, os.R_OK):
            raise ImproperlyConfigured(f"REDIS_URL: the file that {name} names cannot be read.")
    return {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True, **options}


def secret_path(name: str, *, data_dir: Path) -> Path | None:
    """Return the file from which the secret NAME was read; None if the environment itself holds it."""
    if path := os.environ.get(f"{name}_FILE"):
        return Path(path)
    kept = data_dir / name.lower()
    return kept if not os.environ.get(name, "").strip() and kept.exists() else None


def new_secret(name: str) -> str:
    """Return a new random value in the form that the setting NAME takes."""
    if name == "AUTOTUNE_ENCRYPTION_KEYS":
        return f"k1:{secrets.token_hex(32)}"
    return secrets.token_urlsafe(48)


def _write_once(path: Path, value: str) -> None:
    """Write `value` whole or not at all; if two processes start together, the first wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(value + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
