"""What judges for a drain."""

from graders.models import Grader
from scores.engine.bodies.endpoint import EndpointBody
from scores.engine.bodies.interface import Body


def body_for(grader: Grader) -> Body:
    """Return a new body for one drain of the grader.

    raises Unreadable if the secret of an endpoint grader is damaged
    """
    return EndpointBody(grader)
