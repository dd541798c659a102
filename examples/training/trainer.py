"""A trainer in a process of its own, in an environment of its own, beside a server that runs already."""

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autotune.site.local.launch import ROOT
from autotune.site.local.supervisor import SupervisorError
from examples.local import Server

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONWARNINGS": "ignore::FutureWarning",
    "PYTHONUNBUFFERED": "1",
}
POLL_S = 0.2
NICE_END_S = 10.0


def train(server: Server, python: Path, module: str, *arguments: str, env: Mapping[str, str], timeout_s: float) -> None:
    """Run `python -m module` to its end. It sees PATH, HOME, `env`, and that there is no hub; nothing of the server's.

    raises SupervisorError if it fails or takes too long, or a process of the server ends meanwhile
    """
    if not python.exists():
        raise SupervisorError(f"{python} is not there: `make example-grpo` makes it, from requirements-train.txt")
    home = server.folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    own = {"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(home), "HF_HOME": str(home / "hf"), **OFFLINE, **env}
    popen = subprocess.Popen([str(python), "-m", module, *arguments], cwd=ROOT, env=own, stdin=subprocess.DEVNULL)  # noqa: S603
    until = time.monotonic() + timeout_s
    try:
        while (status := popen.poll()) is None:
            server.tree.check()
            if time.monotonic() > until:
                raise SupervisorError(f"the training run took longer than {timeout_s:g} s")
            time.sleep(POLL_S)
    finally:
        if popen.poll() is None:
            popen.terminate()
            popen.wait(NICE_END_S)
    if status:
        raise SupervisorError(f"the training run ended with exit status {status}")


def history(path: Path, figure: str) -> list[tuple[int, float]]:
    """(step, value) of one figure of the lines that `watching.Watch` wrote."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(line["step"], line[figure]) for line in lines if line.get(figure) is not None]


def mean(points: list[tuple[int, float]]) -> float:
    """The mean of the values."""
    return sum(value for _, value in points) / len(points)


def read(path: Path) -> dict[str, Any]:
    """A JSON object that the trainer left."""
    return json.loads(path.read_text(encoding="utf-8"))
