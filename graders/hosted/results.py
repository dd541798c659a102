"""Check what a child returned. A child is not trusted more than a grader that is called: the same limits apply."""

from msgspec import structs

from graders.gateway.answers import MAX_DIMENSION_NAME, MAX_DIMENSIONS, MAX_REASONING
from graders.gateway.texts import clean
from graders.hosted import failures
from graders.hosted.messages import ChildReply
from graders.verdicts import Failure, GraderOptions, Verdict


def checked(reply: ChildReply, options: GraderOptions) -> Verdict | Failure:
    """Return the result in a reply, without what the options do not request."""
    if reply.failure is not None:
        return _plain(reply.failure)
    if reply.verdict is None:
        return failures.broken("the judge returned no verdict")
    verdict = structs.replace(
        reply.verdict,
        value=reply.verdict.value + 0.0,  # -0 becomes 0
        dimensions=reply.verdict.dimensions if options.include_dimensions else None,
        reasoning=reply.verdict.reasoning if options.include_explanation else None,
    )
    problem = _problem(verdict)
    return failures.broken(problem) if problem else verdict


def _plain(failure: Failure) -> Failure:
    """The failure of one item: nothing in it concerns the grader as a whole or a signed call."""
    return structs.replace(failure, message=clean(failure.message), split=False, resign=False, gone=False)


def _problem(verdict: Verdict) -> str:
    """What is wrong with a verdict; '' if nothing is."""
    dimensions = verdict.dimensions or ()
    numbers = [verdict.value, verdict.confidence]
    numbers += [number for dimension in dimensions for number in (dimension.value, dimension.weight)]
    if not all(0 <= number <= 1 for number in numbers):  # NaN is not either
        return "the judge returned a number that is not from 0 to 1"
    names = [dimension.name for dimension in dimensions]
    if len(names) > MAX_DIMENSIONS or len(set(names)) < len(names):
        return f"the judge must return at most {MAX_DIMENSIONS} dimensions, each with a different name"
    if not all(0 < len(name) <= MAX_DIMENSION_NAME and "\0" not in name for name in names):
        return f"the judge must name each dimension with 1 to {MAX_DIMENSION_NAME} characters, none of them NUL"
    if len(verdict.reasoning or "") > MAX_REASONING:
        return f"the judge returned more than {MAX_REASONING:,} characters of reasoning"
    return ""
