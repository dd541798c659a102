"""kill -9 of workers, beat and the web process while a large batch is scored."""

from ..killer import SHORTEST_S, Killer
from ..report import Result
from ..stage import Stage
from ..watch import Watch
from ..work import Work

IDLE_S = 20.0
LATENCY_MS = 400  # so that at each kill a hundred and more are out


def kills(stage: Stage, result: Result) -> None:
    """Nothing is lost, doubled or wrong, and no due run is idle for more than 20 s."""
    sizes = stage.sizes
    pace = sizes.completions / ((sizes.kills + 2) * SHORTEST_S)  # or a fast machine is done before the last kill
    work = Work(
        stage.system, result.name, sizes.completions, grader={"latency_ms": LATENCY_MS}, max_batch=10, pace=pace
    )
    killer, watch = Killer(stage.system, work, sizes.kills, stage.seed), Watch(stage.system.database)
    work.submitter.start()
    seconds = work.until_done(killer.step, watch=watch, patience_s=stage.patience_s)
    result.figures |= {
        "kills": dict(killer.done),
        "perSecond": round(work.final / seconds, 1),
        "longestIdleS": round(watch.longest_idle_s, 1),
        "longestStandstillS": round(watch.longest_standstill_s, 1),
        "postsRepeated": work.submitter.answers.repeated,
    }
    result.take(work.check())
    result.require("all kills were made", killer.count == sizes.kills, killer.count)
    idle_s = IDLE_S * sizes.slack
    result.require(f"no due run is idle for more than {idle_s:g} s", watch.longest_idle_s <= idle_s, watch.idlest)
    result.require(
        "the queue never stops for so long", watch.longest_standstill_s <= idle_s, watch.longest_standstill_s
    )
    result.require("every POST was answered", not work.submitter.answers.refused, work.submitter.answers.refused[:3])
