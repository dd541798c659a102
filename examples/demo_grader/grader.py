"""The demo's grader: a service of somebody else's, whose rules and answer key stay with it.

Serve it with `python -m autotune_sdk.grader grader:grader --port 9100 --secret-file FILE`.
"""

import json
from pathlib import Path

from autotune_sdk.grader import CannotJudge, Completion, Dimension, Grader, Score
from rules import WEIGHTS, judge

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))
SAMPLE = {"form": "answer_line", "number": 4}  # what a platform sends to see whether we answer: it has no prompt id

grader = Grader(
    "Demo grader",
    "1.0.0",
    max_batch_size=50,
    supports_dimensions=True,
    supports_explanations=True,
    domains=("arithmetic", "format"),
)


@grader.score
def score(completion: Completion) -> Score:
    """A value with the three dimensions that it is made of, and why."""
    prompt_id = completion.metadata.get("promptId")
    if prompt_id is not None and prompt_id not in ANSWERS:
        raise CannotJudge(f"no answer is known to prompt {prompt_id!r}")
    judgement = judge(SAMPLE if prompt_id is None else ANSWERS[prompt_id], completion.response)
    return Score(
        judgement.value,
        confidence=0.95 if judgement.sure else 0.6,
        dimensions=[Dimension(name, judgement.marks[name], weight) for name, weight in WEIGHTS.items()],
        reasoning=judgement.reasoning,
    )
