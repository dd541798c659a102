"""The parts of a completion's admin page that this app adds: its reward, runs, scores and reviews."""

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core.admin.cells import badge, figure, linked, state
from autotune.core.admin.inlines import NewestRowsInline
from autotune.core.pages import formats
from scores.admin.scores import state_of
from scores.models import Review, Reward, Score, WorkflowRun
from tasks.admin import CompletionAdmin


class RunsInline(NewestRowsInline):
    model = WorkflowRun
    verbose_name_plural = "workflow runs"
    fields = (state(), "error_code", linked("grader"), "attempt", "generation", "created_at", "completed_at")
    related = ("grader",)
    hidden = ("error_message", "steps")


class ScoresInline(NewestRowsInline):
    model = Score
    verbose_name_plural = "scores"
    fields = (
        figure("value", formats.score),
        figure("confidence", formats.score),
        "current_state",
        linked("grader"),
        linked("grader_version"),
        "created_at",
    )
    related = ("grader", "grader_version")
    hidden = ("reasoning", "details", "dimensions")

    @admin.display(description="state")
    def current_state(self, score: Score) -> SafeString:
        return state_of(score)


class ReviewsInline(NewestRowsInline):
    model = Review
    verbose_name_plural = "reviews"
    fields = (
        state(),
        figure("preliminary_value", formats.score, "preliminary score"),
        linked("grader"),
        linked("claimed_by"),
        linked("decided_by"),
        figure("decided_value", formats.score),
        "expires_at",
    )
    related = ("grader", "claimed_by", "decided_by")
    hidden = (
        "reasoning", "details", "explanation", "dimensions", "claimed_by__password", "decided_by__password",
    )  # fmt: skip


class RewardInline(NewestRowsInline):
    model = Reward
    verbose_name_plural = "reward"
    ordering = ("-completion_id",)
    fields = ("number", figure("confidence", formats.score), "aggregation", "used", "failed", "scored_at")

    @admin.display(description="reward")
    def number(self, reward: Reward) -> SafeString:
        if reward.value is None:
            return badge("failed", reward.error_code)
        return format_html("{}", formats.score(reward.value))


CompletionAdmin.inlines = (RewardInline, RunsInline, ScoresInline, ReviewsInline)
