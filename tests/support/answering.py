"""Rewarded completions with their digests, as intake and scoring leave them."""

from scores.models import Reward
from tasks.digests import Digester
from tests.factories import CompletionFactory


def answered(task, prompt, response, value, **fields):
    """A completion of the task with a reward; `messages`, `model_id`, `metadata` and the like as fields."""
    system_prompt = task.version.content["systemPrompt"]
    digester = Digester(task.organization_id)
    digests = digester.stored(prompt, fields.get("messages"), response, system_prompt=system_prompt)
    completion = CompletionFactory(
        task=task, prompt=prompt, response=response, prompt_digest=digests[0], answer_digest=digests[1], **fields
    )
    rewarded(completion, value)
    return completion


def rewarded(completion, value):
    return Reward.objects.create(
        completion=completion, organization=completion.organization, task=completion.task, value=value, confidence=0.9,
        aggregation="mean", used=1, failed=0,
    )  # fmt: skip
