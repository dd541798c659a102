"""Tables of people, organizations, roles, keys, sessions, and the audit log."""

import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import autotune.core.crypto.fields
import autotune.core.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditChain",
            fields=[
                ("chain", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("number", models.BigIntegerField()),
                ("digest", models.BinaryField(max_length=32)),
                ("sealed_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Throttle",
            fields=[
                ("subject", models.CharField(max_length=120, primary_key=True, serialize=False)),
                ("arrives_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("is_active", models.BooleanField(default=True)),
                ("is_staff", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("email", django.db.models.functions.text.Lower("email"))),
                        name="access_user_email_lower_case",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                ("user", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ("name", models.CharField(max_length=200)),
                ("kind", models.CharField(choices=[("live", "Live"), ("test", "Test")], default="live", max_length=4)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("last_four", models.CharField(max_length=4)),
                ("networks", models.JSONField(blank=True, default=list)),
                (
                    "replaced_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "API key",
            },
        ),
        migrations.CreateModel(
            name="Organization",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=200, unique=True)),
                ("operating", models.BooleanField(default=False)),
                ("suspended", models.BooleanField(default=False)),
                ("text_days", models.PositiveIntegerField(blank=True, null=True)),
                ("score_days", models.PositiveIntegerField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("operating", True)),
                        fields=("operating",),
                        name="access_one_operating_organization",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                ("chain", models.UUIDField()),
                (
                    "organization",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="access.organization",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="access.apikey",
                    ),
                ),
                ("actor", models.CharField(max_length=254)),
                ("action", models.CharField(max_length=80)),
                ("resource", models.CharField(max_length=32)),
                ("object_id", models.CharField(blank=True, max_length=64)),
                ("objects_count", models.PositiveIntegerField(null=True)),
                ("fields", models.JSONField(null=True)),
                ("method", models.CharField(blank=True, max_length=8)),
                ("route", models.CharField(blank=True, max_length=200)),
                ("address", models.GenericIPAddressField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("succeeded", "Succeeded"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                            ("interrupted", "Interrupted"),
                        ],
                        max_length=11,
                    ),
                ),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("code", models.CharField(blank=True, max_length=64)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("at", models.DateTimeField()),
                ("mac", models.BinaryField(max_length=32)),
                ("number", models.BigIntegerField(null=True)),
                ("digest", models.BinaryField(max_length=32, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["chain", "id"], name="access_audit_by_chain"),
                    models.Index(condition=models.Q(("number", None)), fields=["id"], name="access_audit_unsealed"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("number__isnull", False)),
                        fields=("chain", "number"),
                        name="access_audit_number",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("digest", None), ("number", None)),
                            models.Q(("digest__isnull", False), ("number__isnull", False)),
                            _connector="OR",
                        ),
                        name="access_audit_sealed_whole",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Role",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to="access.organization"
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                ("description", models.CharField(blank=True, max_length=400)),
                ("permissions", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("organization", "name"), name="access_role_name"),
                    models.UniqueConstraint(
                        condition=models.Q(("organization", None)), fields=("name",), name="access_built_in_role_name"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("uid", models.UUIDField(default=autotune.core.ids.new, editable=False, unique=True)),
                (
                    "organization",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="access.organization"),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("role", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="access.role")),
                ("email", models.EmailField(blank=True, max_length=254)),
                (
                    "invited_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("token_digest", models.BinaryField(max_length=32, null=True, unique=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("organization", "user"), name="access_membership_user"),
                    models.UniqueConstraint(
                        condition=models.Q(("user", None)),
                        fields=("organization", "email"),
                        name="access_invitation_email",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("user__isnull", False), models.Q(("email", ""), _negated=True), _connector="OR"
                        ),
                        name="access_membership_whose",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SecondFactorSecret",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("secret", autotune.core.crypto.fields.EncryptedTextField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="StoredAnswer",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="access.organization"
                    ),
                ),
                ("route", models.CharField(max_length=200)),
                ("key_digest", models.BinaryField(max_length=32)),
                ("request_digest", models.BinaryField(max_length=32)),
                ("subject", models.UUIDField(null=True)),
                ("status", models.PositiveSmallIntegerField()),
                ("answer", autotune.core.crypto.fields.EncryptedTextField(null=True)),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("subject__isnull", False)),
                        fields=["subject"],
                        name="access_stored_answer_of",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organization", "route", "key_digest"), name="access_stored_answer_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WebSession",
            fields=[
                (
                    "id",
                    models.UUIDField(default=autotune.core.ids.new, editable=False, primary_key=True, serialize=False),
                ),
                ("key_digest", models.BinaryField(max_length=32, unique=True)),
                ("data", models.BinaryField()),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("auth_hash", models.CharField(blank=True, max_length=64)),
                ("address", models.GenericIPAddressField(null=True)),
                ("user_agent", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(db_index=True)),
            ],
            options={
                "verbose_name": "session",
            },
        ),
        migrations.AddField(
            model_name="apikey",
            name="organization",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="access.organization"),
        ),
        migrations.AddField(
            model_name="apikey",
            name="role",
            field=models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="access.role"
            ),
        ),
    ]
