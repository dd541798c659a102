"""The sample completions that the repository ships: of our own making, and far enough apart to show something."""

import importlib.util
import json
import statistics
import sys
from pathlib import Path

import pytest

from autotune.site.demo import samples

ROOT = Path(__file__).resolve().parents[2]


def load(path: str):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


maker = load("tools/demo_completions.py")
rules = load("examples/demo_grader/rules.py")


def test_the_files_are_what_the_generator_writes():
    assert samples.FILE.read_text(encoding="utf-8") == maker.completions_text()
    assert maker.ANSWERS.read_text(encoding="utf-8") == maker.answers_text()


def test_there_are_3_models_25_prompts_and_4_answers_each_and_no_id_twice():
    rows = samples.load()
    assert len(rows) == 300
    assert len({row["external_id"] for row in rows}) == 300
    assert samples.models(rows) == ["condor-70b", "heron-7b", "wren-1b"]
    assert len({row["prompt"] for row in rows}) == 25
    counts = {(row["model_id"], row["prompt"]) for row in rows}
    assert len(counts) == 75


def test_the_models_means_are_at_least_a_tenth_apart():
    answers = json.loads(maker.ANSWERS.read_text(encoding="utf-8"))
    values: dict[str, list[float]] = {}
    for row in samples.load():
        truth = answers[row["metadata"]["promptId"]]
        values.setdefault(row["model_id"], []).append(rules.judge(truth, row["response"]).value)
    means = sorted(statistics.mean(of_model) for of_model in values.values())
    assert means[1] - means[0] >= 0.1
    assert means[2] - means[1] >= 0.1


@pytest.mark.parametrize("question", [*maker.SUMS, *maker.FORMS], ids=lambda question: question.key)
def test_the_demo_grader_distinguishes_the_kinds_of_answers(question):
    worth = {
        sort: [rules.judge(question.truth(), text).value for text in texts] for sort, texts in question.texts().items()
    }
    assert min(worth["good"]) == max(worth["good"]) == 1.0
    assert max(worth["loose"]) < 1.0
    assert max(worth["slip"]) < 1.0
    assert max(worth["lost"]) < 0.25
    assert min(worth["loose"] + worth["slip"]) > max(worth["lost"])
