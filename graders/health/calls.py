"""Call the /health of many graders at once, on this thread's outbound engine and without the database."""

from collections.abc import Mapping
from uuid import UUID

from autotune.core.outbound import engine as outbound_engine
from graders.gateway import outcomes, requests
from graders.gateway.types import GraderCall, GraderTarget, HealthOutcome
from graders.verdicts import Failure

PATIENCE_S = 1.0  # of one poll; each call has its own timeout


def ask_health(targets: Mapping[UUID, GraderTarget]) -> dict[UUID, HealthOutcome]:
    """Call the /health of all targets at the same time, and return the outcome of each.

    In a rotation's grace period, a call that gets 401 or 403 with the previous secret is repeated with the current one.
    """
    engine = outbound_engine.engine()
    health_outcomes: dict[UUID, HealthOutcome] = {}
    out: dict[str, tuple[UUID, GraderCall]] = {}

    def send(key: UUID, call: GraderCall) -> None:
        out[call.request_id] = key, call
        engine.submit(call.request, call.request_id)

    try:
        for key, target in targets.items():
            send(key, requests.build_health(target))
        while out:
            for tag, result in engine.poll(PATIENCE_S):
                key, call = out.pop(str(tag))
                outcome = outcomes.interpret_health(call, targets[key], result)
                if isinstance(outcome.health, Failure) and outcome.health.resign:
                    send(key, requests.build_health(targets[key], secret=targets[key].current))
                else:
                    health_outcomes[key] = outcome
    finally:
        if out:
            engine.abandon()
    return health_outcomes
