"""Frozen dataclasses of the API's responses, a module for each kind of object.

Names are the API's in snake_case; a member without a value is None; JSON that users wrote (metadata, messages,
schemas) stays unchanged. `unreadable` names the members that are None because the server cannot decrypt them.
"""

from .access import ApiKey, AuditEvent, IssuedKey, Member, Permission, Role
from .completions import BatchItem, BatchSubmitted, Completion, Submitted
from .exports import EXPORT_ENDS, Export, ExportedFile, ExportError, ExportFile, ExportLink
from .graders import (
    Authentication,
    Capabilities,
    Check,
    Credentials,
    ErrorCount,
    Grader,
    GraderRegistration,
    GraderStats,
    GraderVersion,
    Limits,
    Redaction,
    Verification,
)
from .pages import Page
from .retention import Erasure, LegalHold
from .reviews import Review
from .rewards import (
    EndpointCounts,
    LiveReward,
    PreferencePair,
    PreferencePairs,
    RewardEndpoint,
    RewardEndpointRegistration,
)
from .runs import Retried, RetrySkip, RunError, RunStep, WorkflowRun
from .scores import (
    FINAL_STATUSES,
    Dimension,
    Distribution,
    Outcome,
    Percentiles,
    Reward,
    Score,
    ScoreResult,
    ScoreSummary,
    WaitingFor,
)
from .tasks import Options, PanelMember, Retention, Retry, ReviewPolicy, Task, TaskDetail, TaskVersion
from .webhooks import Delivery, DeliveryTry, Webhook, WebhookEvent, WebhookRegistration

__all__ = [
    "EXPORT_ENDS",
    "FINAL_STATUSES",
    "ApiKey",
    "AuditEvent",
    "Authentication",
    "BatchItem",
    "BatchSubmitted",
    "Capabilities",
    "Check",
    "Completion",
    "Credentials",
    "Delivery",
    "DeliveryTry",
    "Dimension",
    "Distribution",
    "EndpointCounts",
    "Erasure",
    "ErrorCount",
    "Export",
    "ExportError",
    "ExportFile",
    "ExportLink",
    "ExportedFile",
    "Grader",
    "GraderRegistration",
    "GraderStats",
    "GraderVersion",
    "IssuedKey",
    "LegalHold",
    "Limits",
    "LiveReward",
    "Member",
    "Options",
    "Outcome",
    "Page",
    "PanelMember",
    "Percentiles",
    "Permission",
    "PreferencePair",
    "PreferencePairs",
    "Redaction",
    "Retention",
    "Retried",
    "Retry",
    "RetrySkip",
    "Review",
    "ReviewPolicy",
    "Reward",
    "RewardEndpoint",
    "RewardEndpointRegistration",
    "Role",
    "RunError",
    "RunStep",
    "Score",
    "ScoreResult",
    "ScoreSummary",
    "Submitted",
    "Task",
    "TaskDetail",
    "TaskVersion",
    "Verification",
    "WaitingFor",
    "Webhook",
    "WebhookEvent",
    "WebhookRegistration",
    "WorkflowRun",
]
