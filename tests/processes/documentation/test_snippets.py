"""The examples of each page work as written, in order, in the surroundings that the page states."""

import json
import os
import stat
import subprocess
import sys
from itertools import pairwise

import pytest

from autotune.site.local import launch
from autotune.site.local.ports import answers
from tests.support.concurrency import until
from tests.support.operating import copy_project
from tests.support.snippets import ROOT, SNIPPETS

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]
HERE = ("live", "file", "script", "background")
PAGES = sorted({snippet.page for snippet in SNIPPETS if snippet.surroundings in HERE})


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_work_in_order(page, reader):
    examples = [snippet for snippet in SNIPPETS if snippet.page == page and snippet.how in ("run", "answer")]
    with reader.notebook() as notebook:
        for snippet, following in pairwise([*examples, None]):
            if following and following.how == "answer":
                notebook.check(snippet, following)
            elif snippet.surroundings in HERE:
                assert snippet.prints in notebook.run(snippet), snippet


@pytest.mark.postgres
@pytest.mark.redis
def test_c25_the_production_block_sets_up_postgresql_and_starts_every_process(operator):
    (block,) = [snippet for snippet in SNIPPETS if snippet.surroundings == "production"]
    operator.run(block)
    until(lambda: answers(operator.port, launch.READY_PATH), seconds=60)
    until(lambda: answers(operator.live_port, launch.HEALTH_PATH), seconds=60)
    printed = operator.printed()
    assert "uses SQLite" not in printed
    assert "no issues" in printed
    assert json.loads(next(line for line in printed.splitlines() if line.startswith("{")))["apiKey"].startswith(
        "at_live_"
    )
    assert stat.S_IMODE((operator.folder / ".env").stat().st_mode) == 0o600
    assert not list((operator.folder / "var").glob("*.sqlite3"))


def test_c25_commands_that_set_up_sqlite_say_so(tmp_path):
    env = {**os.environ, "DATABASE_URL": "", "REDIS_URL": "", "AUTOTUNE_DATA_DIR": str(tmp_path)}
    completed = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert completed.returncode == 0
    assert f"NOTE: DATABASE_URL is not set: Autotune uses SQLite, {tmp_path}/autotune.sqlite3" in completed.stderr


def test_new_secrets_never_replace_those_of_an_environment_file(tmp_path):
    copy_project(tmp_path)
    (tmp_path / ".env").write_text("SECRET_KEY=the only copy")
    refused = subprocess.run(
        [sys.executable, "tools/new_env.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": "."},
        capture_output=True, text=True,
    )  # fmt: skip
    assert (refused.returncode, "nothing was changed" in refused.stderr) == (1, True)
    assert (tmp_path / ".env").read_text() == "SECRET_KEY=the only copy"
