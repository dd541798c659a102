"""What retention needs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0004_trust")]
    operations = [
        migrations.AddField(
            model_name="task", name="erased_to", field=models.UUIDField(blank=True, editable=False, null=True)
        ),
    ]
