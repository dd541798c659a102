"""What retention and erasure need."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("scores", "0005_encrypted_errors")]
    operations = []
