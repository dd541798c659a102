"""Scored answers and preference pairs as `datasets.Dataset`, at once and by way of an export job."""

import os
from importlib.metadata import version

from autotune_sdk import AutotuneClient
from autotune_sdk.integrations.datasets import load_preferences, load_scores

from examples.clients.samples import ran

NAME = f"datasets {version('datasets')}"
TASK = "AUTOTUNE_TASK_ID"
WRONG, RIGHT = "The answer is 5", "The answer is 4"
MODEL = "datasets-example"


def main() -> None:
    task = os.environ[TASK]
    with AutotuneClient() as client:
        pair = [{"prompt": "Is it 4?", "response": text, "metadata": {"answer": "4"}} for text in (WRONG, RIGHT)]
        client.rewards(pair, task_id=task, model_id=MODEL, deadline_s=60)
        at_once = load_scores(client=client, task_id=task, model_id=MODEL)
        by_job = load_scores(client=client, task_id=task, model_id=MODEL, job=True, timeout_s=120)
        pairs = load_preferences(client=client, task_id=task, model_id=MODEL, conversational=True)
    ran(f"{NAME} Dataset.from_parquet, records", sorted(at_once["score"]), [0.0, 1.0])
    ran(f"{NAME} Dataset.from_parquet, records of a job", sorted(by_job["score"]), [0.0, 1.0])
    chosen = [row["chosen"][-1]["content"] == RIGHT for row in pairs]
    ran(f"{NAME} Dataset.from_parquet, preferences", [float(is_right) for is_right in chosen], [1.0])


if __name__ == "__main__":
    main()
