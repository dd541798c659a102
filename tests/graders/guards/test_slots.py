"""Shared concurrency: fair, never over the limit, and the share of a killed drain is freed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.guards.slots import LEASE_S, live, renew, shares
from graders.guards.state import CallingDrain


class Holding:
    """Drains that call a grader of `limit`, each with the calls that it has out."""

    def __init__(self, limit):
        self.limit, self.now, self.drains, self.may, self.out = limit, 0.0, {}, {}, {}

    def ask(self, name, want):
        self.drains, self.may[name] = renew(
            self.drains, name, want=want, out=self.out.get(name, 0), limit=self.limit, now=self.now
        )
        return self.may[name]

    def fill(self, name):
        self.out[name] = max(self.out.get(name, 0), self.may[name])


@pytest.fixture
def sixteen():
    return Holding(16)


def test_a_single_holder_gets_everything_it_requests(sixteen):
    assert sixteen.ask("a", 10) == 10
    assert sixteen.ask("a", 40) == 16


def test_a_newcomer_has_its_share_as_soon_as_the_others_have_renewed(sixteen):
    sixteen.ask("a", 16)
    assert sixteen.ask("b", 16) == 0
    assert sixteen.ask("a", 16) == 8
    assert sixteen.ask("b", 16) == 8


def test_a_share_is_not_free_while_its_calls_are_open(sixteen):
    sixteen.ask("a", 16)
    sixteen.fill("a")
    sixteen.ask("b", 16)
    assert (sixteen.ask("a", 16), sixteen.ask("b", 16)) == (8, 0)
    sixteen.out["a"] = 11
    assert (sixteen.ask("a", 16), sixteen.ask("b", 16)) == (8, 5)


def test_a_holder_that_requests_fewer_leaves_the_rest_to_others():
    assert shares({"a": 2, "b": 100, "c": 100}, 16) == {"a": 2, "b": 7, "c": 7}


def test_with_more_holders_than_slots_some_have_none():
    assert sorted(shares(dict.fromkeys("abcde", 5), 3).values()) == [0, 0, 1, 1, 1]


def test_an_idle_holder_has_no_share(sixteen):
    sixteen.ask("a", 16)
    sixteen.ask("a", 0)
    assert sixteen.drains == {}


def test_the_share_of_a_killed_holder_is_free_after_its_lease(sixteen):
    sixteen.ask("killed", 16)
    sixteen.now = LEASE_S - 0.1
    assert sixteen.ask("b", 16) == 0
    sixteen.now = LEASE_S
    assert sixteen.ask("b", 16) == 16
    assert set(sixteen.drains) == {"b"}


@given(
    wants=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 50), min_size=1),
    limit=st.integers(1, 64),
)
def test_shares_are_complete_and_fair(wants, limit):
    given_ = shares(wants, limit)
    assert sum(given_.values()) == min(limit, sum(wants.values()))
    assert all(given_[name] <= wants[name] for name in wants)
    lacking = [given_[name] for name in wants if given_[name] < wants[name]]
    assert all(share <= min(lacking) + 1 for share in given_.values()) if lacking else True


moves = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(["ask", "fill", "end", "wait"]), st.integers(0, 20)),
    max_size=60,
)


@given(moves=moves, limit=st.integers(1, 16))
def test_open_calls_never_exceed_the_limit(moves, limit):
    """Drains that renew within their lease, in any order, with calls that end when they like."""
    world = Holding(limit)
    for name, move, number in moves:
        if move == "ask":
            world.ask(name, number)
        elif move == "fill" and name in live(world.drains, "", world.now):
            world.fill(name)
        elif move == "end":
            world.out[name] = max(0, world.out.get(name, 0) - number)
        else:
            for each in list(world.drains):
                world.ask(each, world.drains[each].want)
            world.now += number % 15
        assert sum(world.out.values()) <= limit


@given(
    before=st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 20), st.integers(0, 20))),
    limit=st.integers(1, 16),
)
def test_after_three_rounds_all_have_their_share(before, limit):
    """A round makes all known, one more takes back what some have too much, and one gives it to the others."""
    world = Holding(limit)
    world.drains = {name: CallingDrain(LEASE_S, want, held) for name, (want, held) in before.items()}
    for _ in range(3):
        may = {name: world.ask(name, limit) for name in "abcd"}
    assert may == shares(dict.fromkeys("abcd", limit), limit)
