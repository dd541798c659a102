"""Messages of failed runs become ciphertext: graders write them."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("scores", "0004_trust")]
    operations = []
