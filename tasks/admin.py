"""Admin pages of tasks. Versions, panels and completions are records: they are shown and never changed here."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core.admin import PublicIdSearch, Record, TextForSuperusers, plain
from tasks import definitions
from tasks.models import Completion, PanelMember, Task, TaskVersion


@admin.action(description="Archive the selected tasks", permissions=["change"])
def archive(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Task]) -> None:
    for task in queryset:
        definitions.archive(task)


class TaskForm(forms.ModelForm):
    """The organization stands on the page and not in the form, so Django alone would not look at its names."""

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        self.instance.name = given.get("name", self.instance.name)
        self.instance.validate_constraints()
        return given


@admin.register(Task)
class TaskAdmin(PublicIdSearch, admin.ModelAdmin):
    """What defines a task is changed through the API, which makes versions; here it is named and archived."""

    kind = "task"
    form = TaskForm
    list_display = ("name", "public_id", "organization", "model_name", "archived", "created_by", "created_at")
    list_filter = ("archived", "organization", "created_at")
    list_select_related = ("organization", "created_by")
    search_fields = ("name", "description")
    show_full_result_count = False
    fields = (
        "public_id", "organization", "name", "description", "version", "model_name", "archived",
        ("max_attempts", "backoff_ms", "max_backoff_ms", "deadline_ms"), ("include_dimensions", "include_explanation"),
        "review_below_confidence", "created_by", "created_at", "updated_at",
    )  # fmt: skip
    readonly_fields = (
        "public_id", "organization", "version", "model_name", "max_attempts", "backoff_ms", "max_backoff_ms",
        "deadline_ms", "include_dimensions", "include_explanation", "review_below_confidence", "created_by",
        "created_at", "updated_at",
    )  # fmt: skip
    actions = (archive,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Task]:
        return super().get_queryset(request).select_related("organization", "created_by").defer("metadata")

    def save_model(self, request: HttpRequest, obj: Task, form: Any, change: bool) -> None:
        obj.save(update_fields=[*form.changed_data, "updated_at"])


class PanelMemberInline(Record, admin.TabularInline):
    model = PanelMember
    extra = 0
    fields = readonly_fields = ("position", "grader", "weight", "part")
    ordering = ("position",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PanelMember]:
        return super().get_queryset(request).select_related("grader")


@admin.register(TaskVersion)
class TaskVersionAdmin(PublicIdSearch, TextForSuperusers, admin.ModelAdmin):
    kind = "taskv"
    list_display = ("digest", "public_id", "task", "organization", "aggregation", "created_at")
    list_filter = ("aggregation", "organization", "created_at")
    list_select_related = ("task", "organization")
    search_fields = ("digest", "task__name", "task__description")
    show_full_result_count = False
    ordering = ("-created_at",)
    inlines = (PanelMemberInline,)
    facts = ("public_id", "task", "organization", "digest", "aggregation", "created_at")
    texts = ("content",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[TaskVersion]:
        return super().get_queryset(request).select_related("task", "organization").defer("content", "task__metadata")

    @admin.display(description="content")
    def content_text(self, version: TaskVersion) -> str:
        return plain(version, "content")


@admin.register(PanelMember)
class PanelMemberAdmin(Record, admin.ModelAdmin):
    list_display = ("task_version", "task", "position", "grader", "weight", "part")
    list_filter = ("part",)
    list_select_related = ("task_version__task", "grader")
    search_fields = ("task_version__task__name", "grader__name")
    show_full_result_count = False
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PanelMember]:
        found = super().get_queryset(request).select_related("task_version__task", "grader")
        return found.defer("task_version__content", "task_version__task__metadata")

    @admin.display(ordering="task_version__task__name")
    def task(self, member: PanelMember) -> Task:
        return member.task_version.task


@admin.register(Completion)
class CompletionAdmin(PublicIdSearch, TextForSuperusers, admin.ModelAdmin):
    kind = "comp"
    list_display = ("public_id", "task", "model_id", "external_id", "priority", "source", "created_at", "erased_at")
    list_filter = ("source", "priority", "organization", "created_at")
    list_select_related = ("task",)
    search_fields = ("external_id", "model_id", "task__name", "task__description")
    show_full_result_count = False
    ordering = ("-id",)
    facts = (
        "public_id", "organization", "task", "task_version", "created_by", "model_id", "external_id", "priority",
        "source", "created_at", "erased_at",
    )  # fmt: skip
    texts = ("prompt", "messages", "response", "metadata")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Completion]:
        found = super().get_queryset(request).select_related("task", "organization", "task_version", "created_by")
        return found.defer(*self.texts, "content_digest", "task__metadata", "task_version__content")

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
