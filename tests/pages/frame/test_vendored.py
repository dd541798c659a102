"""Third-party files are byte for byte those that VENDORED.md names, each with its licence."""

import hashlib
import re
from pathlib import Path

from django.conf import settings

VENDOR = Path(settings.BASE_DIR) / "static/vendor"
ROW = re.compile(
    r"^\| ([\w.]+) \| ([\d.]+) \| (\S+) \| `([^`]+)` \| (\S+), `[^`]+` \| `([0-9a-f]{64})` \|$", re.MULTILINE
)


def rows():
    return ROW.findall((VENDOR / "VENDORED.md").read_text())


def test_both_libraries_are_listed_with_version_and_licence():
    assert {(name, version, licence) for name, version, licence, *_ in rows()} == {
        ("htmx.org", "2.0.11", "0BSD"),
        ("idiomorph", "0.8.0", "0BSD"),
    }


def test_each_file_equals_the_published_one():
    for name, version, _, path, source, digest in rows():
        assert hashlib.sha256((VENDOR / path).read_bytes()).hexdigest() == digest, name
        assert source.endswith(f"{name}-{version}.tgz")


def test_every_vendored_file_is_listed():
    listed = {path for _, _, _, path, _, _ in rows()}
    files = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    licences = {f"{path.partition('/')[0]}/LICENSE" for path in listed}
    assert files == listed | licences | {"VENDORED.md"}
    for licence in licences:
        assert "Permission to use, copy, modify" in (VENDOR / licence).read_text()
