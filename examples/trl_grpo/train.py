"""GRPO with TRL on a CPU; every reward comes from an Autotune server.

Knows nothing but AUTOTUNE_BASE_URL, AUTOTUNE_API_KEY and AUTOTUNE_TASK_ID: how answers are judged, it never learns.
Started by `run.py` in an environment of its own (requirements-train.txt):

    python -m examples.trl_grpo.train FOLDER --steps 200
"""

import argparse
import json
from pathlib import Path

import torch
from autotune_sdk.integrations.trl import reward_func
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from examples.training.watching import Watch, quiet
from examples.trl_grpo import tiny

TOKENS = 3  # of an answer
GROUP = 16  # answers to one prompt
BATCH = 160  # answers in one step: to ten prompts
SEED = 0
DEADLINE_S = 60.0  # TRL itself sets no limit to a reward call


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where history.jsonl and answers.json go")
    parser.add_argument("--steps", type=int, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the server and the grader need the other core
    prompts = [f"count on from {number} :" for number in tiny.NUMBERS]
    words, model = tiny.tokenizer(), tiny.model(SEED)
    before = {prompt: tiny.answer(model, words, prompt, TOKENS) for prompt in prompts}
    reward = reward_func(model_id="tiny-grpo", deadline_s=DEADLINE_S)
    trainer = GRPOTrainer(
        model=model,
        processing_class=words,
        reward_funcs=reward,
        args=config(arguments.folder, arguments.steps),
        train_dataset=Dataset.from_dict({"prompt": prompts * arguments.steps}),
        callbacks=[Watch(arguments.folder / "history.jsonl", ("reward", "entropy"))],
    )
    quiet(trainer)
    trainer.train()
    after = {prompt: tiny.answer(model, words, prompt, TOKENS) for prompt in prompts}
    totals = reward.scorer.totals
    results = {
        "before": before,
        "after": after,
        "asked": totals.items,
        "unscored": dict(totals.codes),
        "reward_seconds": totals.seconds,
    }
    (arguments.folder / "answers.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def config(folder: Path, steps: int) -> GRPOConfig:
    """On-policy, without a reference model; a bonus for entropy keeps so small a model from settling too early."""
    return GRPOConfig(
        output_dir=str(folder / "trainer"),
        use_cpu=True,
        bf16=False,
        seed=SEED,
        max_steps=steps,
        per_device_train_batch_size=BATCH,
        num_generations=GROUP,
        max_completion_length=TOKENS,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        beta=0.0,
        entropy_coef=0.05,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )


if __name__ == "__main__":
    main()
