"""A server at its limit closes the right connections."""

import resource

import pytest

from autotune.site.servers import quiet_connections
from autotune.site.servers.quiet_connections import RESERVED_FILES, QuietConnections, open_file_limit


@pytest.fixture
def quiet():
    return QuietConnections()


def test_c27_the_address_with_the_most_connections_loses_its_longest_quiet_ones_first(quiet):
    quiet.add("legit-1", "10.0.0.1")
    for number in range(5):
        quiet.add(f"flood-{number}", "10.0.0.9")
    quiet.add("legit-2", "10.0.0.1")
    assert quiet.to_close(3) == ["flood-0", "flood-1", "flood-2"]


def test_c27_of_many_addresses_with_one_connection_each_any_can_be_chosen_once(quiet):
    for number in range(100):
        quiet.add(number, f"10.0.0.{number}")
    assert len(set(quiet.to_close(30))) == 30
    assert sorted(quiet.to_close(1_000)) == list(range(100))
    assert QuietConnections().to_close(5) == []


def test_a_connection_that_is_quiet_again_is_the_newest_and_a_busy_one_is_never_chosen(quiet):
    for name in "abc":
        quiet.add(name, "10.0.0.1")
    quiet.add("a", "10.0.0.1")
    quiet.discard("b")
    quiet.discard("b")
    assert (quiet.to_close(9), len(quiet)) == (["c", "a"], 2)


@pytest.mark.parametrize(
    ("soft", "hard", "connections", "raised_to", "fit"),
    [
        (1_024, 4_096, 1_000, 1_000 + RESERVED_FILES, 1_000),
        (1_024, 1_100, 1_000, 1_100, 1_100 - RESERVED_FILES),
        (1_024, resource.RLIM_INFINITY, 5_000, 5_000 + RESERVED_FILES, 5_000),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 5_000, None, 5_000),
        (65_536, 65_536, 1_000, None, 1_000),
        (100, 100, 1_000, 100, 1),
    ],
)
def test_c27_the_limit_of_descriptors_is_raised_or_the_connections_are_fewer(
    monkeypatch, soft, hard, connections, raised_to, fit
):
    limits = []
    monkeypatch.setattr(quiet_connections.resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(quiet_connections.resource, "setrlimit", lambda which, both: limits.append(both))
    assert open_file_limit(connections) == fit
    assert limits == ([] if raised_to is None else [(raised_to, hard)])
