"""The index of pending deliveries has the whole order in which they are claimed, so that a claim never sorts all of them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('webhooks', '0004_storage'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['webhook', 'next_at', 'id'], name='webhooks_delivery_next'),
        ),
        migrations.RemoveIndex(
            model_name='delivery',
            name='webhooks_delivery_due',
        ),
    ]
