"""What a scenario gets: the system, the sizes, and a way to see that nothing died by itself."""

from dataclasses import dataclass

from .system import System


@dataclass(frozen=True)
class Sizes:
    """The amounts of work; `--short`, the default and `--full` differ only in these."""

    completions: int  # of kills
    kills: int
    embedded: int  # completions on the embedded default
    embedded_kills: int
    asynchronous: int  # runs
    async_kills: int
    async_kill_every_s: float
    events: int
    event_kills: int
    outage: int  # completions while a server is away
    redis_away_s: float
    outages_s: tuple[float, ...]  # how long PostgreSQL is away, one after the other
    read_only_s: float
    rivals: int
    healthy: int  # completions of the grader beside the hostile ones
    pace: float  # submissions a second in the outage of PostgreSQL
    slack: float = 1.0  # by which bounds of time count: the short form runs anywhere, and several scenarios at once
    keeps: float = 0.90  # of its throughput that a healthy grader keeps beside the hostile ones


SHORT = Sizes(completions=2_000, kills=5, embedded=300, embedded_kills=3, asynchronous=300, async_kills=2, async_kill_every_s=3, events=300, event_kills=3,
              outage=1_500, redis_away_s=10, outages_s=(5,), read_only_s=4, rivals=2_000, healthy=600, pace=250, slack=2.0, keeps=0.70)  # fmt: skip
NORMAL = Sizes(completions=20_000, kills=50, embedded=5_000, embedded_kills=20, asynchronous=10_000, async_kills=20, async_kill_every_s=10, events=10_000,
               event_kills=50, outage=20_000, redis_away_s=60, outages_s=(5, 60, 1_200), read_only_s=30, rivals=20_000, healthy=3_000, pace=250)  # fmt: skip
FULL = Sizes(completions=100_000, kills=200, embedded=5_000, embedded_kills=20, asynchronous=10_000, async_kills=20, async_kill_every_s=10, events=10_000,
             event_kills=50, outage=20_000, redis_away_s=60, outages_s=(5, 60, 1_200), read_only_s=30, rivals=20_000, healthy=3_000, pace=250)  # fmt: skip


@dataclass
class Stage:
    """One scenario after the other plays on it."""

    system: System
    sizes: Sizes
    seed: int
    patience_s: float
