"""What a grader's owners keep to themselves of its verdicts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("graders", "0003_encrypted_details")]
    operations = [
        migrations.AddField(
            model_name="grader",
            name="redact_dimensions",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="grader",
            name="redact_reasoning",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
