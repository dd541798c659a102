"""Follow the commands of the first start in a new checkout, as an operator would."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.serving import free_port
from tests.support.snippets import ROOT, Snippet

SOURCES = (
    "autotune",
    "exports",
    "graders",
    "scores",
    "static",
    "tasks",
    "templates",
    "tools",
    "sdk",
    "examples",
    "docs",
)
FILES = (
    "Makefile",
    "Procfile",
    "manage.py",
    "requirements.txt",
    "requirements-dev.txt",
    ".env.example",
    "pyproject.toml",
)


def copy_project(folder: Path) -> None:
    """Copy the project as a checkout has it, without files that a run leaves behind, with these tests' environment."""
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in FILES:
        shutil.copy2(ROOT / name, folder / name)
    environment = folder / ".venv"
    environment.mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.name not in (".runtime", ".dev"):
            (environment / path.name).symlink_to(path)
    (environment / ".runtime").touch()  # newer than requirements.txt: there is nothing to install


class Operator:
    """Runs a page's block of commands in a shell in `folder`, the checkout; `end` stops what it started."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        copy_project(folder)
        self.folder, self.port, self.live_port = folder, free_port(), free_port()
        self.replacements = {
            "postgres://autotune:password@db.example.com:5432/autotune": database_url,
            "redis://redis.example.com:6379/0": redis_url,
        }
        self.output = folder / "output.log"
        self.shell: subprocess.Popen | None = None

    def run(self, block: Snippet) -> None:
        """Run the block in the background, because its last line does not return."""
        source = block.source
        for placeholder, value in self.replacements.items():
            assert placeholder in source
            source = source.replace(placeholder, value)
        names = ("PATH", "HOME", "LANG", "PYTHONDONTWRITEBYTECODE")
        env = {name: os.environ[name] for name in names if name in os.environ}
        env |= {"PORT": str(self.port), "LIVE_PORT": str(self.live_port)}
        source = source.replace(". ./.env;", f". ./.env; PORT={self.port} LIVE_PORT={self.live_port};")
        with self.output.open("wb") as out:
            self.shell = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", source], cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def printed(self) -> str:
        return self.output.read_text()

    def end(self) -> None:
        if self.shell is not None:
            os.killpg(self.shell.pid, signal.SIGTERM)
            self.shell.wait(40)
