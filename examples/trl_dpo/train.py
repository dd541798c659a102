"""DPO with TRL on a CPU from the pairs that a server exported, and a short run of each other trainer of such files.

Reads only files. Started by `run.py` in an environment of its own (requirements-train.txt):

    python -m examples.trl_dpo.train FOLDER --steps 120
"""

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerFast, Trainer
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer, RewardConfig, RewardTrainer

from examples.training.watching import Watch, quiet
from examples.trl_dpo import tiny

SEED = 0
BATCH = 8
LONGEST = 192  # tokens of a prompt with an answer in the run whose loss is drawn, so that it is short
SHORT, SHORT_LENGTH = 10, 256  # steps of each short run, and tokens after which it cuts a text off
HELD_OUT = 0.1  # of the pairs, by prompt: each prompt has one pair


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where the exported files lie and the results go")
    parser.add_argument("--steps", type=int, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the models are too small to gain from more
    folder: Path = arguments.folder
    pairs = load(folder / "preferences.parquet")
    words = tiny.tokenizer(text for name in ("prompt", "chosen", "rejected") for text in pairs[name])
    results = {"dpo": dpo(folder, pairs, words, arguments.steps)}
    for name, short in SHORT_RUNS.items():
        trainer = short(folder, words)
        quiet(trainer)
        loss = trainer.train().training_loss
        if not math.isfinite(loss):
            raise SystemExit(f"{name}: the loss is {loss}")
        results[name] = {"rows": len(trainer.train_dataset), "loss": loss}
        print(f"{name}: {len(trainer.train_dataset)} rows, {SHORT} steps, loss {loss:.3f}", flush=True)
    (folder / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def load(path: Path) -> Dataset:
    """A file as it was exported, in the columns that it has."""
    reader: Callable[..., Any] = Dataset.from_parquet if path.suffix == ".parquet" else Dataset.from_json
    return reader(str(path), cache_dir=str(path.parent / "cache"))


def dpo(folder: Path, pairs: Dataset, words: PreTrainedTokenizerFast, steps: int) -> dict[str, Any]:
    """The run of which the loss is drawn; what the trainer says of the pairs that it did not see, before and after."""
    short = pairs.filter(lambda pair: longest(pair, words) <= LONGEST)
    parts = short.train_test_split(HELD_OUT, seed=SEED)
    trainer = DPOTrainer(
        model=tiny.language_model(words, SEED),
        ref_model=tiny.language_model(words, SEED),
        processing_class=words,
        args=DPOConfig(**common(folder, steps), learning_rate=1e-3, lr_scheduler_type="constant", beta=0.1),
        train_dataset=parts["train"],
        eval_dataset=parts["test"],
        callbacks=[Watch(folder / "history.jsonl", ("loss", "rewards/accuracies"))],
    )
    quiet(trainer)
    before = trainer.evaluate()
    trainer.train()
    after = trainer.evaluate()
    kept = ("eval_loss", "eval_rewards/accuracies")
    return {
        "pairs": len(pairs),
        "trained_on": len(parts["train"]),
        "held_out": len(parts["test"]),
        "before": {name: before[name] for name in kept},
        "after": {name: after[name] for name in kept},
    }


def longest(pair: dict[str, Any], words: PreTrainedTokenizerFast) -> int:
    """Tokens of the prompt with the longer answer."""
    return max(len(words(pair["prompt"] + pair[side])["input_ids"]) for side in ("chosen", "rejected"))


def common(folder: Path, steps: int) -> dict[str, Any]:
    """What all the configurations share."""
    return {
        "output_dir": str(folder / "trainer"),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "seed": SEED,
        "max_steps": steps,
        "per_device_train_batch_size": BATCH,
        "per_device_eval_batch_size": BATCH,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
    }


def dpo_of_json(folder: Path, words: PreTrainedTokenizerFast) -> Trainer:
    """The same pairs as JSONL."""
    return _dpo(folder, words, "preferences.jsonl")


def dpo_of_conversations(folder: Path, words: PreTrainedTokenizerFast) -> Trainer:
    """The pairs as conversations (`conversational=true`)."""
    return _dpo(folder, words, "conversations.parquet")


def _dpo(folder: Path, words: PreTrainedTokenizerFast, file: str) -> Trainer:
    return DPOTrainer(
        model=tiny.language_model(words, SEED),
        ref_model=tiny.language_model(words, SEED),
        processing_class=words,
        args=DPOConfig(**common(folder, SHORT), max_length=SHORT_LENGTH),
        train_dataset=load(folder / file),
    )


def kto(folder: Path, words: PreTrainedTokenizerFast) -> Trainer:
    """Single answers with a label (`layout=kto`)."""
    return KTOTrainer(
        model=tiny.language_model(words, SEED),
        ref_model=tiny.language_model(words, SEED),
        processing_class=words,
        args=KTOConfig(**common(folder, SHORT), max_length=SHORT_LENGTH),
        train_dataset=load(folder / "kto.parquet"),
    )


def reward(folder: Path, words: PreTrainedTokenizerFast) -> Trainer:
    """A reward model of the pairs, with the difference of their scores as the margin that it is to keep."""
    pairs = load(folder / "preferences.parquet")
    with_margin = pairs.map(lambda pair: {"margin": pair["chosen_score"] - pair["rejected_score"]})
    return RewardTrainer(
        model=tiny.reward_model(words, SEED),
        processing_class=words,
        args=RewardConfig(**common(folder, SHORT), max_length=SHORT_LENGTH),
        train_dataset=with_margin,
    )


SHORT_RUNS: dict[str, Callable[[Path, PreTrainedTokenizerFast], Trainer]] = {
    "DPOTrainer, preferences as JSONL": dpo_of_json,
    "DPOTrainer, conversations": dpo_of_conversations,
    "KTOTrainer": kto,
    "RewardTrainer": reward,
}


if __name__ == "__main__":
    main()
