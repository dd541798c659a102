"""Which pairs there are: by strategy, gap, cap and seed; the same on each engine."""

import random
from collections import defaultdict
from uuid import UUID

import pytest

from exports.pairs import selection
from exports.pairs.selection import PairChoice
from tasks.models import Completion
from tests.factories import CompletionFactory, TaskFactory
from tests.support.answering import answered, rewarded

pytestmark = pytest.mark.django_db
DRAWN = {
    "best_worst": [(25, 33), (3, 19), (39, 23), (8, 32), (22, 30), (13, 37)],
    "all": [(9, 1), (39, 23), (2, 34), (24, 40), (13, 37), (20, 4)],
    "random": [(9, 17), (39, 7), (2, 18), (40, 32), (13, 29), (20, 4)],
}


@pytest.fixture
def task(db):
    return TaskFactory()


def of(task, **choice):
    """(better, worse) rewards of all pairs, by prompt digest."""
    rewards_by_prompt = defaultdict(list)
    for pair in selection.of(Completion.objects.filter(task=task), PairChoice(**choice)):
        rewards_by_prompt[pair.prompt].append((pair.chosen_score, pair.rejected_score))
    return rewards_by_prompt


def rewards_of_only_prompt(task, **choice):
    """The rewards of the pairs of the only prompt that has some."""
    rewards_by_prompt = of(task, **choice)
    assert len(rewards_by_prompt) <= 1
    return sorted(next(iter(rewards_by_prompt.values()), []), reverse=True)


def answers(task, *values, prompt="p"):
    return [answered(task, prompt, f"answer {n}", value) for n, value in enumerate(values)]


def test_best_worst_is_the_greatest_against_the_least(task):
    completions = answers(task, 0.4, 0.9, 0.1, 0.6)
    (pair,) = selection.of(Completion.objects.all(), PairChoice())
    assert (UUID(bytes=pair.chosen), UUID(bytes=pair.rejected)) == (completions[1].pk, completions[2].pk)
    assert (pair.chosen_score, pair.rejected_score) == (0.9, 0.1)


def test_all_is_each_two_answers_with_different_rewards(task):
    answers(task, 0.5, 0.9, 0.1, 0.5)
    assert rewards_of_only_prompt(task, strategy="all") == [(0.9, 0.5), (0.9, 0.5), (0.9, 0.1), (0.5, 0.1), (0.5, 0.1)]
    assert selection.count(Completion.objects.all(), PairChoice(strategy="all")) == 5


def test_equal_rewards_and_a_single_answer_make_no_pair(task):
    answers(task, 0.5, 0.5)
    answers(task, 0.7, prompt="q")
    answers(task, 0.1 + 0.2, 0.3, prompt="a difference of rounding")
    for strategy in ("best_worst", "all", "random"):
        assert of(task, strategy=strategy) == {}
        assert selection.count(Completion.objects.all(), PairChoice(strategy=strategy)) == 0


def test_the_minimum_difference_is_inclusive(task):
    answers(task, 0.1, 0.3, 0.6)
    assert rewards_of_only_prompt(task, strategy="all", min_score_delta=0.2) == [(0.6, 0.3), (0.6, 0.1), (0.3, 0.1)]
    assert rewards_of_only_prompt(task, strategy="all", min_score_delta=0.3) == [(0.6, 0.3), (0.6, 0.1)]
    assert rewards_of_only_prompt(task, strategy="all", min_score_delta=0.51) == []
    assert rewards_of_only_prompt(task, strategy="all", min_score_delta=1.0) == []


def test_zero_and_one_differ_by_one(task):
    answers(task, 0.0, 1.0)
    assert rewards_of_only_prompt(task, min_score_delta=1.0) == [(1.0, 0.0)]


def test_answers_that_say_the_same_are_one_with_the_newest_reward(task):
    answered(task, "p", "the same", 0.9)
    answered(task, "p", "the same", 0.2)
    assert of(task, strategy="all") == {}
    other = answered(task, "p", "another", 0.5)
    (pair,) = selection.of(Completion.objects.all(), PairChoice())
    assert (UUID(bytes=pair.chosen), pair.rejected_score) == (other.pk, 0.2)


def test_a_conversation_is_a_different_prompt_from_its_last_message(task):
    answered(task, "p", "a", 0.9)
    answered(task, "p", "b", 0.1, messages=[{"role": "user", "content": "p"}])
    assert of(task) == {}


def test_completions_without_reward_digest_or_text_are_in_no_pair(task):
    answered(task, "p", "a", 0.9)
    CompletionFactory(task=task, prompt="p", response="unscored")
    rewarded(CompletionFactory(task=task, prompt="p", response="no digest yet"), 0.1)
    rewarded(CompletionFactory(task=task, prompt="p", response="unreadable", prompt_digest=b"", answer_digest=b""), 0.2)
    rewarded(CompletionFactory(task=task, prompt="q", response="so is this", prompt_digest=b"", answer_digest=b""), 0.3)
    assert of(task, strategy="all") == {}


def test_the_cap_takes_best_against_worst_first_and_spreads_the_others_evenly(task):
    answers(task, *(n / 10 for n in range(8)))
    every = rewards_of_only_prompt(task, strategy="all")
    assert len(every) == 28
    assert rewards_of_only_prompt(task, strategy="all", cap=1) == [(0.7, 0.0)]
    for cap in (2, 7, 27, 28, 29):
        taken = rewards_of_only_prompt(task, strategy="all", cap=cap)
        assert len(taken) == len(set(taken)) == min(cap, 28)
        assert set(taken) <= set(every)
        assert (0.7, 0.0) in taken
    assert len({better for better, _ in rewards_of_only_prompt(task, strategy="all", cap=7)}) >= 4


def test_random_draws_by_the_seed_and_each_pair_in_its_turn(task):
    answers(task, 0.1, 0.4, 0.8)
    drawn = [tuple(rewards_of_only_prompt(task, strategy="random", seed=seed)) for seed in range(60)]
    assert drawn == [tuple(rewards_of_only_prompt(task, strategy="random", seed=seed)) for seed in range(60)]
    assert set(drawn) == {((0.8, 0.4),), ((0.8, 0.1),), ((0.4, 0.1),)}
    assert all(len(rewards_of_only_prompt(task, strategy="random", seed=seed, cap=2)) == 2 for seed in range(20))


def test_a_sample_is_spread_over_the_prompts_and_the_same_for_the_same_seed(task):
    for n in range(10):
        answers(task, 0.1, 0.4, 0.8, prompt=f"prompt {n}")
    source, choice = Completion.objects.all(), PairChoice(strategy="all", seed=3)
    pairs, available = selection.sample(source, choice, 10)
    assert (len(pairs), available) == (10, 30)
    assert len({pair.prompt for pair in pairs}) == 10
    assert selection.sample(source, choice, 10) == (pairs, 30)
    others = {tuple(selection.sample(source, PairChoice(strategy="all", seed=seed), 10)[0]) for seed in range(8)}
    assert len(others) == 8
    assert len(selection.sample(source, choice, 7)[0]) == 7
    whole, available = selection.sample(source, choice, 1000)
    assert (len(whole), available) == (30, 30)
    assert sorted(whole) == sorted(selection.of(source, choice))
    assert selection.sample(Completion.objects.none(), choice, 5) == ([], 0)


def slowly(rows, gap, strategy):
    """The pairs by their definition. `rows`: (prompt, answer, pk, value)."""
    newest = {(prompt, answer): (pk, value) for prompt, answer, pk, value in sorted(rows, key=lambda row: row[2])}
    pairs = defaultdict(list)
    for (prompt, _), better in newest.items():
        for (other_prompt, _), worse in newest.items():
            if prompt == other_prompt and better[1] - worse[1] >= gap - 1e-9 and better[1] - worse[1] > 1e-9:
                pairs[prompt].append((better[0].bytes, worse[0].bytes))
    if strategy == "all":
        return {prompt: sorted(prompt_pairs) for prompt, prompt_pairs in pairs.items()}
    values = {pk.bytes: value for pk, value in newest.values()}
    return {
        prompt: [
            max(prompt_pairs, key=lambda pair: (values[pair[0]] - values[pair[1]], pair[0], [-b for b in pair[1]]))
        ]
        for prompt, prompt_pairs in pairs.items()
    }


@pytest.mark.parametrize("strategy", ["best_worst", "all"])
def test_pairs_match_the_definition(task, strategy):
    draw = random.Random(5)
    rows = []
    for _ in range(300):
        prompt, answer = f"p{draw.randrange(20)}", f"a{draw.randrange(15)}"
        value = draw.randrange(11) / 10
        rows.append((prompt, answer, answered(task, prompt, answer, value).pk, value))
    digests = dict(Completion.objects.values_list("prompt_digest", "pk"))
    names = {bytes(digest): next(row[0] for row in rows if row[2] == pk) for digest, pk in digests.items()}
    source = Completion.objects.all()
    for gap in (0.0, 0.3, 0.8):
        choice, pairs_by_prompt = PairChoice(strategy=strategy, min_score_delta=gap), defaultdict(list)
        pairs = selection.of(source, choice)
        for pair in pairs:
            pairs_by_prompt[names[pair.prompt]].append((pair.chosen, pair.rejected))
        assert pairs_by_prompt == slowly(rows, gap, strategy)
        assert selection.count(source, choice) == len(pairs) > 0
        drawn, available = selection.sample(source, choice, len(pairs))
        assert (sorted(drawn), available) == (sorted(pairs), len(pairs))


def test_every_engine_draws_the_same(task):
    """The drawn pairs depend only on ids, digests and the seed."""
    draw = random.Random(1)
    for n in range(40):
        completion = CompletionFactory(
            id=UUID(int=n + 1), task=task, prompt_digest=bytes([n % 8]) * 16, answer_digest=bytes([n]) * 16
        )
        rewarded(completion, draw.randrange(101) / 100)
    drawn = {
        strategy: [
            (int.from_bytes(pair.chosen, "big"), int.from_bytes(pair.rejected, "big"))
            for pair in selection.sample(Completion.objects.all(), PairChoice(strategy=strategy, cap=2, seed=11), 6)[0]
        ]
        for strategy in ("best_worst", "all", "random")
    }
    assert drawn == DRAWN
