"""What a trainer logs, stored as one JSON line a step for the charts. Runs in the training environment."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import PrinterCallback

LINES = 20  # printed of a whole run


class Watch(TrainerCallback):
    """Writes every log of a trainer to `path` and prints the named figures now and then."""

    def __init__(self, path: Path, shown: Sequence[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
        self._path, self._shown = path, shown
        self._began = time.monotonic()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        line = {"step": state.global_step, "seconds": round(time.monotonic() - self._began, 3), **(logs or {})}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        every = max(1, state.max_steps // LINES)
        figures = [f"{name} {line[name]:.3f}" for name in self._shown if name in line]
        if figures and state.global_step % every == 0:
            print(f"step {state.global_step}/{state.max_steps}  {'  '.join(figures)}", flush=True)


def quiet(trainer: Trainer) -> None:
    """No dictionary on the screen for each step."""
    trainer.remove_callback(PrinterCallback)
