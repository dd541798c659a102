"""The examples of the README work unchanged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from autotune_sdk.cli import build_parser
from autotune_sdk.grader import Completion, Options

README = Path(__file__).parents[2] / "sdk/python/README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


def test_the_grader_judges() -> None:
    space: dict[str, Any] = {}
    exec(BLOCKS[0], space)
    verdicts = space["grader"].judge(
        [Completion("c1", None, "2+2?", " 4\n", {"answer": "4"}), Completion("c2", None, "2+2?", "5", {})], Options()
    )
    assert verdicts[0].value == 1
    assert str(verdicts[1]) == "no reference answer in metadata.answer"


def test_the_trainer_runs(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTOTUNE_API_KEY", "at_test_x")
    monkeypatch.setenv("AUTOTUNE_BASE_URL", fake.url)
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    exec(BLOCKS[1], space)
    space["client"].close()
    assert capsys.readouterr().out.splitlines()[:2] == ["True", "completed 0.01 0.9"]
    assert len(space["rewards"]) == 5000
    assert None not in space["rewards"]
    assert (tmp_path / "rewards.jsonl").stat().st_size > 0


def test_the_command_lines_are_valid() -> None:
    text = README.read_text(encoding="utf-8")
    command_lines = re.findall(r"^autotune (.+)$", text, re.M)
    assert command_lines
    for line in command_lines:
        build_parser().parse_args(line.split())


def test_every_exit_code_is_documented() -> None:
    from autotune_sdk.cli import EXIT_CODES, score

    for code in (score.OK, score.SOME_FAILED, score.BAD_INPUT, score.API_FAILED, score.OUT_OF_TIME, score.INTERRUPTED):
        assert re.search(rf"^  {code} ", EXIT_CODES, re.M)
        assert f"| {code} |" in README.read_text(encoding="utf-8")


def test_heavy_modules_are_imported_only_when_needed() -> None:
    import subprocess
    import sys

    source = README.parent / "src"
    code = "import sys, autotune_sdk, autotune_sdk.grader, autotune_sdk.cli; print(sorted(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(source)}
    ).stdout
    assert not {"pyarrow", "pandas", "uvicorn", "django", "numpy"} & set(re.findall(r"'(\w+)'", output))
