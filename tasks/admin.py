"""Admin pages of tasks. Versions, panels and completions are records: they are shown and never changed here."""

from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet, prefetch_related_objects
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core.admin.actions import each
from autotune.core.admin.base import ProductPageMixin, PublicIdSearchMixin, ReadOnlyMixin, SuperuserTextMixin, plain
from autotune.core.admin.cells import anchor, badge, link, linked, list_url, moment
from autotune.core.admin.inlines import InlinesMixin, NewestRowsInline
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin, named
from autotune.core.errors import Conflict
from graders.models import Grader
from tasks import definitions
from tasks.models import Completion, PanelMember, Task, TaskVersion

OrganizationFilter = named(Organization, "org")
TaskFilter = named(Task, "task")


@admin.action(description="Archive the selected tasks", permissions=["change"])
def archive(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Task]) -> None:
    each(model_admin, request, queryset, _archive, "archived")


def _archive(task: Task) -> None:
    if task.archived:
        raise Conflict("The task is already archived.", code="archived")
    definitions.archive(task)


class TaskAdminForm(forms.ModelForm):
    """The admin form of a task. Its organization is not a field, so the form checks that the name is unique in it."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self.instance.name = cleaned.get("name", self.instance.name)
        self.instance.validate_constraints()
        return cleaned


class TaskVersionsInline(NewestRowsInline):
    model = TaskVersion
    verbose_name_plural = "newest versions"
    fields = ("public_id", "aggregation", "members", "created_at")
    hidden = ("content",)
    ordering = ("-created_at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[TaskVersion]:
        return super().get_queryset(request).prefetch_related("members__grader")

    @admin.display(description="panel")
    def members(self, version: TaskVersion) -> SafeString:
        return _panel(version)


class PanelMemberInline(NewestRowsInline):
    model = PanelMember
    verbose_name_plural = "panel"
    show_change_link = False
    fields = ("position", linked("grader"), "weight", "part")
    ordering = ("position",)
    related = ("grader",)


@admin.register(Task)
class TaskAdmin(InlinesMixin, PublicIdSearchMixin, ProductPageMixin, admin.ModelAdmin):
    """The admin page of tasks. It renames and archives them; other changes need the API, which creates versions."""

    kind = "task"
    finds = MappingProxyType({"org": "organization_id", "user": "created_by_id", "taskv": "versions__pk"})
    page_name = "task"
    form = TaskAdminForm
    list_display = (
        "name", "current_state", linked("organization", order="organization__name"), "model_name",
        linked("created_by", "made by"), moment("created_at", "made"), "public_id",
    )  # fmt: skip
    list_filter = ("archived", OrganizationFilter, "created_at")
    list_select_related = ("organization", "created_by")
    search_fields = ("name", "description")
    search_help_text = "A part of a name or description, or an id (task_…, taskv_…, org_… or user_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("-created_at",)
    fieldsets = (
        (None, {"fields": ("public_id", "organization", "name", "description", "archived")}),
        ("What defines it", {"fields": ("version", "panel", "model_name")}),
        ("Scoring", {"fields": (
            ("max_attempts", "backoff_ms", "max_backoff_ms", "deadline_ms"),
            ("include_dimensions", "include_explanation"), "review_below_confidence", "review_blind", "use_calibration",
        )}),
        ("Text", {"fields": ("text_days", "share_text")}),
        ("More", {"fields": ("kind", "its_lists", "created_by", "created_at", "updated_at")}),
    )  # fmt: skip
    readonly_fields = (
        "public_id", "organization", "version", "panel", "model_name", "max_attempts", "backoff_ms", "max_backoff_ms",
        "deadline_ms", "include_dimensions", "include_explanation", "review_below_confidence", "review_blind",
        "use_calibration", "text_days", "share_text", "kind", "its_lists", "created_by", "created_at", "updated_at",
    )  # fmt: skip
    actions = (archive,)
    inlines = (TaskVersionsInline,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Task]:
        tasks = super().get_queryset(request).select_related("organization", "created_by", "version")
        return tasks.defer("metadata", "version__content")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Task | None:
        task: Task | None = super().get_object(request, object_id, from_field)
        if task is not None and task.version is not None:
            prefetch_related_objects([task.version], "members__grader")
        return task

    def save_model(self, request: HttpRequest, obj: Task, form: Any, change: bool) -> None:
        obj.save(update_fields=[*form.changed_data, "updated_at"])

    @admin.display(description="state", ordering="archived")
    def current_state(self, task: Task) -> SafeString:
        return badge("archived") if task.archived else badge("active")

    @admin.display(description="panel")
    def panel(self, task: Task) -> SafeString:
        return _panel(task.version) if task.version is not None else badge("")

    @admin.display(description="lists")
    def its_lists(self, task: Task) -> SafeString:
        """Links to the task's lists in other apps. The apps are named as text, since this app imports none of them."""
        links = [(list_url(Completion, task=task.public_id), "completions")]
        links += [
            (f"{reverse(f'admin:scores_{page}_changelist')}?task={task.public_id}", text)
            for page, text in (
                ("workflowrun", "workflow runs"),
                ("score", "scores"),
                ("reward", "rewards"),
                ("review", "reviews"),
            )
        ]
        return format_html_join(" · ", "{}", ((anchor(url, text),) for url, text in links))


def _panel(version: TaskVersion) -> SafeString:
    """The graders of a version as links, each with its weight."""
    members = [
        format_html(
            "{} × {}{}", link(member.grader), f"{member.weight:g}", ", shadow" if member.part == "shadow" else ""
        )
        for member in version.members.all()
    ]
    return format_html_join("; ", "{}", ((member,) for member in members)) or badge("")


@admin.register(TaskVersion)
class TaskVersionAdmin(PublicIdSearchMixin, SuperuserTextMixin, admin.ModelAdmin):
    kind = "taskv"
    finds = MappingProxyType({"task": "task_id", "org": "organization_id", "user": "created_by_id"})
    list_display = (
        "digest_brief", linked("task", order="task__name"), linked("organization", order="organization__name"),
        "aggregation", linked("created_by", "made by"), moment("created_at", "made"), "public_id",
    )  # fmt: skip
    list_filter = ("aggregation", TaskFilter, OrganizationFilter, "created_at")
    list_select_related = ("task", "organization", "created_by")
    search_fields = ("digest", "task__name", "task__description")
    search_help_text = "A part of a digest or of a task's name or description, or an id (taskv_, task_, org_ or user_…)"
    show_full_result_count = False
    ordering = ("-created_at",)
    inlines = (PanelMemberInline,)
    groups = (
        (None, ("public_id", "task", "organization", "created_by", "created_at")),
        ("What defines it", ("digest", "aggregation")),
    )
    texts = ("content",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[TaskVersion]:
        versions = super().get_queryset(request).select_related("task", "organization", "created_by")
        return versions.defer(*self.unread(request), "task__metadata", "created_by__password")

    @admin.display(description="digest", ordering="digest")
    def digest_brief(self, version: TaskVersion) -> str:
        return version.digest[:12]

    @admin.display(description="content")
    def content_text(self, version: TaskVersion) -> str:
        return plain(version, "content")


@admin.register(PanelMember)
class PanelMemberAdmin(PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    finds = MappingProxyType({"task": "task_version__task_id", "taskv": "task_version_id", "grader": "grader_id"})
    list_display = (
        "position_label",
        linked("task_version__task", order="task_version__task__name"),
        linked("task_version"),
        linked("grader", order="grader__name"),
        "weight",
        "part_badge",
    )
    list_filter = ("part", named(Grader, "grader"), named(Task, "task", "task_version__task"))
    list_select_related = ("task_version__task", "grader")
    search_fields = ("task_version__task__name", "grader__name")
    search_help_text = "A part of a task's or grader's name, or an id (task_…, taskv_… or grader_…)"
    show_full_result_count = False
    ordering = ("-id",)
    fields = ("task_version", "position", "grader", "weight", "part")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PanelMember]:
        members = super().get_queryset(request).select_related("task_version__task", "grader")
        return members.defer("task_version__content", "task_version__task__metadata")

    @admin.display(description="place", ordering="position")
    def position_label(self, member: PanelMember) -> str:
        return f"no. {member.position + 1}"

    @admin.display(description="part", ordering="part")
    def part_badge(self, member: PanelMember) -> SafeString:
        return badge("busy" if member.part == "shadow" else "active", member.part)


@admin.register(Completion)
class CompletionAdmin(LargeTableMixin, PublicIdSearchMixin, ProductPageMixin, SuperuserTextMixin, admin.ModelAdmin):
    kind = "comp"
    finds = MappingProxyType({"task": "task_id", "taskv": "task_version_id", "org": "organization_id"})
    page_name = "completion"
    list_display = (
        "public_id", linked("task"), "model_id", "external_id", "priority_badge", "source",
        moment("created_at", "submitted", order=""), "text_state",
    )  # fmt: skip
    list_filter = (
        CreatedWithin, OrganizationFilter, TaskFilter, "source", "held_out", "priority",
        ("erased_at", admin.EmptyFieldListFilter),
    )  # fmt: skip
    list_select_related = ("task",)
    search_fields = ("external_id", "=model_id", "task__name", "task__description")
    search_help_text = "A part of an external id or a task, exactly a model, or an id (comp_…, task_…, taskv_…, org_…)"
    groups = (
        (None, ("public_id", "organization", "task", "task_version", "created_by")),
        (
            "Work",
            ("model_id", "external_id", "priority", "source", "held_out", "created_at", "text_state", "erased_at"),
        ),
    )
    texts = ("prompt", "messages", "response", "metadata", "variables")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Completion]:
        completions = super().get_queryset(request).select_related("task", "organization", "task_version", "created_by")
        digests = ("content_digest", "prompt_digest", "answer_digest")
        others = ("task__metadata", "task_version__content", "created_by__password")
        return completions.defer(*self.unread(request), *digests, *others)

    @admin.display(description="priority")
    def priority_badge(self, completion: Completion) -> SafeString:
        word = completion.get_priority_display().lower()
        return badge({"high": "warn", "low": "neutral"}.get(word, "busy"), word)

    @admin.display(description="text")
    def text_state(self, completion: Completion) -> SafeString:
        return badge("withdrawn", "erased") if completion.erased_at else badge("ready", "kept")

    @admin.display(description="prompt")
    def prompt_text(self, completion: Completion) -> str:
        return plain(completion, "prompt")

    @admin.display(description="messages")
    def messages_text(self, completion: Completion) -> str:
        return plain(completion, "messages")

    @admin.display(description="response")
    def response_text(self, completion: Completion) -> str:
        return plain(completion, "response")

    @admin.display(description="metadata")
    def metadata_text(self, completion: Completion) -> str:
        return plain(completion, "metadata")

    @admin.display(description="variables")
    def variables_text(self, completion: Completion) -> str:
        return plain(completion, "variables")
