"""What judges for a drain, by the kind of the grader."""

from graders.hosted import judges
from graders.models import Grader
from graders.states import GraderKind
from scores.engine.bodies.endpoint import EndpointBody
from scores.engine.bodies.hosted import HostedBody
from scores.engine.bodies.interface import Body


def body_for(grader: Grader) -> Body:
    """Return a new body for one drain of the grader.

    raises Unreadable if the secret of an endpoint grader is damaged, UnknownKind if nothing judges for its kind
    """
    if grader.kind == GraderKind.ENDPOINT:
        return EndpointBody(grader)
    judges.require(grader.kind)
    return HostedBody(grader)
