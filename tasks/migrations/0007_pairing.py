from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasks', '0006_digests'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='completion',
            index=models.Index(condition=models.Q(('erased_at', None), ('prompt_digest', None)), fields=['id'], name='tasks_completion_undigested'),
        ),
        migrations.AddIndex(
            model_name='completion',
            index=models.Index(fields=['task', 'prompt_digest'], include=('answer_digest', 'id'), name='tasks_completion_by_prompt'),
        ),
    ]
