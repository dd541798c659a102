"""Judges whether an answer ends with the reference that travels with it: 1 or 0; without a reference, no score.

Each framework words the reference in its own way, so all of their names are looked for.

Serve it with `python -m autotune_sdk.grader grader:grader --port 9103 --secret-file FILE`.
"""

import re

from autotune_sdk.grader import CannotJudge, Completion, Grader

NAMES = ("answer", "label", "ground_truth", "solution", "reference", "expected_answer")
SPECIAL = re.compile(r"<[^<>\s]{1,40}>")  # tokens such as </s>, which some trainers leave in the text

grader = Grader("Ends with", "1.0.0", max_batch_size=200, domains=("arithmetic",))


@grader.score
def score(completion: Completion) -> float:
    """1 if the last word of the answer is the reference."""
    references = [str(completion.metadata[name]) for name in NAMES if completion.metadata.get(name)]
    if not references:
        raise CannotJudge(f"no reference: metadata has none of {', '.join(NAMES)}")
    words = SPECIAL.sub(" ", completion.response).split()
    return float(bool(words) and words[-1].rstrip(".") == references[0])
