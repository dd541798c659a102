"""Two extra sweepers that never rest, and six workers: they must not get in each other's way."""

import sys

from autotune.site.local.supervisor import SupervisedProcess

from .. import ROOT
from ..report import Result
from ..stage import Stage
from ..watch import Watch
from ..work import Work

WORKERS = 6
SWEEPERS = 2
LATENCY_MS = 50
LIMITS = {"maxConcurrency": 64}


def rivals(stage: Stage, result: Result) -> None:
    """As ever, with no deadlock; no run is asked for more often than it was claimed."""
    system = stage.system
    assert system.postgres is not None
    before = system.postgres.deadlocks()
    extra = [f"worker-extra-{number}" for number in range(WORKERS - system.workers)]
    sweepers = [f"sweeper-{number}" for number in range(SWEEPERS)]
    for name in extra:
        system.add_worker(name)
    for name in sweepers:
        env = system.env | {"DJANGO_SETTINGS_MODULE": "autotune.settings"}
        system.keeper.start(SupervisedProcess(name, (sys.executable, "-m", "bench.faults.sweeping"), env=env, cwd=ROOT))
    try:
        system.keeper.wait_for(lambda: all(map(system.keeper.ready, extra)), "the start of more workers", 90)
        grader = {"latency_ms": LATENCY_MS}
        work = Work(system, result.name, stage.sizes.rivals, grader=grader, limits=LIMITS, max_batch=5)
        watch = Watch(system.database)
        work.submitter.start()
        seconds = work.until_done(watch=watch, patience_s=stage.patience_s)
        result.figures |= {"workers": WORKERS, "extraSweepers": SWEEPERS, "perSecond": round(work.final / seconds, 1)}
        result.take(work.check())
        deadlocks = system.postgres.deadlocks() - before
        result.figures |= {"deadlocks": deadlocks, "callsPerScore": round(result.figures["calls"] / work.total, 3)}
        result.require("no deadlock", deadlocks == 0, deadlocks)
        result.require(
            "nobody dies and no lease runs out, so each is asked for once", result.figures["calls"] == work.total
        )
    finally:
        for name in [*sweepers, *extra]:
            system.keeper.retire(name)
