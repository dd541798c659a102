"""The API endpoint that returns a sample of preference pairs."""

from rest_framework.request import Request

from autotune.access.views import ApiView
from autotune.core.api.operations import operation
from exports.pairs import sample
from exports.pairs.requests import PairsRequest
from exports.pairs.sample import PairsOut


class PreferencePairsView(ApiView):
    @operation(
        summary="Make preference pairs of a task's rewarded completions", resource="preference_pairs", action="create",
        body=PairsRequest, answers={200: PairsOut}, errors=(409, 410), subject="task_id", calls_out=True,
    )  # fmt: skip
    def post(self, request: Request, body: PairsRequest) -> PairsOut:
        """Return a sample of the pairs: two answers to one prompt whose rewards differ by `minScoreDelta` or more.

        Equal answers to a prompt count as one answer, with the newest reward; equal rewards make no pair.
        `best_worst` (default) pairs the greatest reward of a prompt with the least; `all` any two answers; `random`
        draws `capPerPrompt` (1) pairs of each prompt. Where a prompt has more pairs than `capPerPrompt`, they are
        spread evenly over all it has. The sample is spread evenly over the prompts, in an order that `seed` (0) draws:
        the same seed gives the same pairs while the rewards are the same. `available` counts what it was drawn from.
        """
        return sample.answer(self.principal, body)
