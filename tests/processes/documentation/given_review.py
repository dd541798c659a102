"""A task whose scores wait for a person, and a completion of it that waits."""

from autotune_sdk import AutotuneClient

client = AutotuneClient()
grader = client.graders.list(search="Demo grader").items[0]
task = client.tasks.create(
    name="Reviewed", prompt_template="{{prompt}}", grader_id=grader.id, review={"below_confidence": 1.0}
)
sample = next(client.scores.iterate(min_score=0.9))
original = client.completions.get(sample.completion_id)
client.completions.submit(
    task_id=task.id, model_id="m-1", prompt=original.prompt, response=original.response, metadata=original.metadata
)
while not client.reviews.list(task_id=task.id, status="open").items:
    pass
