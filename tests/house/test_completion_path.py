"""docs/completion-path.md lists the files that a completion enters; a script runs one and compares."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/completion-path.md"


@pytest.mark.postgres
def test_the_page_lists_the_files_that_a_completion_enters():
    command = [sys.executable, ROOT / "bench/completion_path.py", "--check", PAGE]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
