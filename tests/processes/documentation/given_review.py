"""A task whose scores wait for a person, and a completion of it that waits."""

from uuid import uuid4

from autotune_sdk import AutotuneClient

_client = AutotuneClient()
_grader = _client.graders.list(search="Demo grader").items[0]
_task = _client.tasks.create(
    name=f"Reviewed {uuid4()}", prompt_template="{{prompt}}", grader_id=_grader.id, review={"below_confidence": 1.0}
)
_score = next(_client.scores.iterate(grader_id=_grader.id, min_score=0.9))
_scored = _client.completions.get(_score.completion_id)
_client.completions.submit(
    task_id=_task.id, model_id="m-1", prompt=_scored.prompt, response=_scored.response, metadata=_scored.metadata
)
while not _client.reviews.list(task_id=_task.id, status="open").items:
    pass
