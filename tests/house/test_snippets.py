"""Every fenced example states where it runs, or why it does not run; all are well-formed and pass the type check."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.snippets import CODE, NO_CODE, PAGES, ROOT, SNIPPETS

CODE_SNIPPETS = [snippet for snippet in SNIPPETS if snippet.language in CODE]
SURROUNDINGS = {"live", "file", "script", "background", "production"}
NOT_RUN_AT_MOST = 15
TYPES = {
    "client": "from autotune_sdk import AutotuneClient\nclient = AutotuneClient()\n",
    "request": (ROOT / "tests/processes/documentation/given_request.py").read_text(encoding="utf-8"),
    "review": "",
}
ANYTHING = "from typing import Any as _Any\n{name}: _Any = ...\n"
MAKE = re.compile(r"^([a-z0-9-]+):", re.MULTILINE)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_c25_every_example_states_its_surroundings_or_why_it_is_not_run(snippet):
    assert snippet.language in CODE | NO_CODE
    if snippet.language in NO_CODE:
        assert not snippet.how
    elif snippet.how == "run":
        assert snippet.surroundings in SURROUNDINGS
    elif snippet.how == "answer":
        assert snippet.language == "json"
        assert re.fullmatch(r"[245]\d\d", snippet.what)
    else:
        assert snippet.how in ("run by", "not run")
        assert snippet.what


def test_an_answer_follows_the_request_that_gets_it():
    for request, answer in pairwise(SNIPPETS):
        if answer.how == "answer":
            assert (request.page, request.surroundings, request.language) == (answer.page, "live", "bash"), answer
            assert request.source.count("curl") == 1, f"{request}: the status of one request is compared"


def test_indented_blocks_are_fenced():
    unfenced = {}
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        if blocks := re.findall(r"(?<=\n\n) {4}\S.*", text):
            unfenced[page.name] = blocks
    assert unfenced == {}


def test_the_runner_of_each_example_exists():
    targets = set(MAKE.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    for snippet in CODE_SNIPPETS:
        if snippet.how == "run by":
            runner = snippet.what.partition(",")[0]
            exists = runner.removeprefix("make ") in targets if runner.startswith("make ") else (ROOT / runner).exists()
            assert exists, f"{snippet}: {runner}"


def test_examples_that_are_not_run_are_few_and_say_why(capsys):
    reasons = {str(snippet): snippet.what for snippet in CODE_SNIPPETS if snippet.how == "not run"}
    with capsys.disabled():
        counts = Counter(snippet.how for snippet in CODE_SNIPPETS)
        print(
            f"\nexamples: {counts['run']} run, {counts['answer']} answers compared, {counts['run by']} run elsewhere, "
            f"{counts['not run']} not run:"
        )
        print(*(f"  {place}: {reason}" for place, reason in reasons.items()), sep="\n")
    assert all(len(reason) > 10 for reason in reasons.values())
    assert len(reasons) <= NOT_RUN_AT_MOST


@pytest.mark.parametrize("snippet", [snippet for snippet in CODE_SNIPPETS if snippet.language != "python"], ids=str)
def test_examples_in_other_languages_are_well_formed(snippet):
    if snippet.language == "bash":
        checked = subprocess.run(["bash", "-n"], input=snippet.source, text=True, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")
    elif snippet.language == "json":
        json.loads(snippet.source)
    elif snippet.language == "toml":
        tomllib.loads(snippet.source)


def modules_of(folder: Path) -> list[str]:
    """Write a Python file for each page, and one for each example that the page saves under a name."""
    paths = []
    for number, page in enumerate(sorted({snippet.page for snippet in CODE_SNIPPETS})):
        place = folder / f"page_{number}"
        place.mkdir()
        parts = []
        defined: set[str] = set()
        for snippet in CODE_SNIPPETS:
            if snippet.page != page or snippet.language != "python" or snippet.how == "not run":
                continue
            new_names = [name for name in snippet.assumed_names if name not in defined]
            defined |= set(new_names)
            source = "".join(TYPES.get(name, ANYTHING.format(name=name)) for name in new_names) + snippet.source
            if file_name := snippet.file or snippet.script:
                (place / file_name).write_text(source, encoding="utf-8")
                paths.append(str(place / file_name))
            else:
                parts.append(f"# {snippet}\n{source}")
        if parts:
            (place / f"page_{number}.py").write_text("\n".join(parts), encoding="utf-8")
            paths.append(str(place / f"page_{number}.py"))
    return paths


def test_c25_every_example_in_python_is_type_checked(tmp_path):
    settings = tmp_path / "mypy.ini"
    settings.write_text(
        "[mypy]\npython_version = 3.11\nignore_missing_imports = true\ncheck_untyped_defs = true\n"
        "allow_redefinition = true\nfollow_imports = silent\ndisable_error_code = no-redef\n"
    )
    errors = []
    for path in modules_of(tmp_path):
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            str(settings),
            "--cache-dir",
            str(tmp_path / "cache"),
            path,
        ]
        env = {**os.environ, "MYPYPATH": str(ROOT / "sdk/python/src")}
        checked = subprocess.run(command, cwd=Path(path).parent, env=env, text=True, capture_output=True, check=False)
        if checked.returncode:
            errors.append(Path(path).read_text(encoding="utf-8") + checked.stdout + checked.stderr)
    assert not errors, "\n".join(errors)
