"""Rewarded completions with their digests, as intake and scoring leave them."""

from scores.models import Reward
from tasks.digests import Digester
from tests.factories import CompletionFactory


def answered(task, prompt, response, value, **fields):
    """A completion of the task with a reward; `messages`, `model_id`, `metadata` and the like as fields."""
    digests = digests_of(task, prompt, response, fields.get("messages"))
    completion = CompletionFactory(task=task, prompt=prompt, response=response, **digests, **fields)
    rewarded(completion, value)
    return completion


def digests_of(task, prompt, response, messages=None):
    """The columns of a completion's digests."""
    system_prompt = task.version.content["systemPrompt"]
    digests = Digester(task.organization_id).stored(prompt, messages, response, system_prompt=system_prompt)
    return dict(zip(("prompt_digest", "answer_digest"), digests, strict=True))


def rewarded(completion, value):
    return Reward.objects.create(
        completion=completion, organization=completion.organization, task=completion.task, value=value, confidence=0.9,
        aggregation="mean", used=1, failed=0, source=completion.source, held_out=completion.held_out,
    )  # fmt: skip
