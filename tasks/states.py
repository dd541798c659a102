"""The choices of the fields of tasks and completions."""

from typing import Final

from django.db import models


class TaskKind(models.TextChoices):
    """A deck is a task that began as a system prompt. Only a deck may have no graders."""

    TASK = "task"
    DECK = "deck"


class Aggregation(models.TextChoices):
    """How the scores of a panel become one reward."""

    MEAN = "mean"
    CONFIDENCE_WEIGHTED = "confidence_weighted"
    MEDIAN = "median"
    MIN = "min"
    MAX = "max"
    ALL_OR_NOTHING = "all_or_nothing"


class PanelPart(models.TextChoices):
    """A grader's part in a panel: its scores count, or are only recorded."""

    SCORING = "scoring"
    SHADOW = "shadow"


class Priority(models.IntegerChoices):
    """The priority of a completion: runs with a higher one are claimed first. The API names are low, normal, high."""

    LOW = 0
    NORMAL = 1
    HIGH = 2


class CompletionSource(models.TextChoices):
    """How Autotune received a completion. The endpoint that receives it sets the source; no request contains it."""

    API = "api"
    MANUAL = "manual"
    TELEMETRY = "telemetry"
    EVALUATION = "evaluation"


LISTED_SOURCES: Final = (
    CompletionSource.API.value,
    CompletionSource.MANUAL.value,
    CompletionSource.TELEMETRY.value,
)  # what lists read by default
TRAINING_SOURCES: Final = (
    CompletionSource.API.value,
    CompletionSource.MANUAL.value,
)  # what exports, pairs and figures read by default


class ConversationShape(models.TextChoices):
    """The form that carries a whole conversation; each form carries everything that the previous form carries.

    PROMPT  one user text, sent as a prompt or as a message
    CHAT    messages with a role and a text
    TOOLS   also tool calls, tool results or names
    PARTS   also parts that are not text, or members that no other form has
    """

    PROMPT = "prompt"
    CHAT = "chat"
    TOOLS = "tools"
    PARTS = "parts"
