"""A live answer belongs to a model; runs may wait for an equal completion, and scores may be copies."""

from django.db import migrations, models

# What stands so far was judged itself. A row without its completion stands for nothing.
MODELS = """
UPDATE scores_liveanswer
SET model_id = (SELECT c.model_id FROM tasks_completion c WHERE c.id = scores_liveanswer.completion_id),
    replaces = completion_id
WHERE EXISTS (SELECT 1 FROM tasks_completion c WHERE c.id = scores_liveanswer.completion_id)
"""
ORPHANS = "DELETE FROM scores_liveanswer WHERE replaces IS NULL"
# Backwards one answer of each content stands again: the newest that was judged itself.
COPIES = "DELETE FROM scores_liveanswer WHERE replaces IS NULL"
OTHERS = """
DELETE FROM scores_liveanswer WHERE EXISTS (
    SELECT 1 FROM scores_liveanswer o WHERE o.task_version_id = scores_liveanswer.task_version_id
    AND o.answer_digest = scores_liveanswer.answer_digest AND o.id > scores_liveanswer.id
)
"""


class Migration(migrations.Migration):
    dependencies = [("scores", "0009_reward_endpoint_without_text"), ("tasks", "0006_digests")]

    operations = [
        migrations.RemoveConstraint(model_name="liveanswer", name="scores_live_answer"),
        migrations.AddField(
            model_name="liveanswer",
            name="model_id",
            field=models.CharField(default="", max_length=200),
            preserve_default=False,
        ),
        migrations.AddField(model_name="liveanswer", name="replaces", field=models.UUIDField(null=True)),
        migrations.RunSQL([MODELS, ORPHANS], [COPIES, OTHERS]),
        migrations.AddConstraint(
            model_name="liveanswer",
            constraint=models.UniqueConstraint(
                fields=("task_version", "answer_digest", "model_id"), name="scores_live_answer"
            ),
        ),
        migrations.AddConstraint(
            model_name="liveanswer",
            constraint=models.UniqueConstraint(
                condition=models.Q(("replaces__isnull", False)),
                fields=("task_version", "answer_digest", "replaces"),
                name="scores_live_judged",
            ),
        ),
        migrations.AddField(model_name="score", name="reused_from", field=models.UUIDField(blank=True, null=True)),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(
                condition=models.Q(("reused_from__isnull", False)), fields=["completion"], name="scores_score_reused"
            ),
        ),
        migrations.AddField(model_name="workflowrun", name="reuses", field=models.UUIDField(blank=True, null=True)),
        migrations.AlterField(
            model_name="workflowrun",
            name="waits_for",
            field=models.CharField(
                blank=True,
                choices=[("grader", "Grader"), ("callback", "Callback"), ("review", "Review"), ("reuse", "Reuse")],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
        migrations.AddIndex(
            model_name="workflowrun",
            index=models.Index(
                condition=models.Q(("status", "waiting"), ("waits_for", "reuse")),
                fields=["reuses", "id"],
                name="scores_run_reusing",
            ),
        ),
    ]
