"""The Python client of Autotune. The grader kit is `autotune_sdk.grader`, the command line is `autotune`.

from autotune_sdk import AutotuneClient

with AutotuneClient() as client:                      # AUTOTUNE_API_KEY, AUTOTUNE_BASE_URL
    sent = client.completions.submit(task_id="task_…", model_id="m-1", prompt="2+2?", response="4")
    print(client.completions.wait_for_score(sent.completion.id).value)
"""

from ._files import BrokenExport, DamagedFile
from ._version import VERSION as __version__
from .client import AutotuneClient
from .errors import (
    APIError,
    AuthenticationError,
    AutotuneError,
    ConfigurationError,
    ConflictError,
    ConnectionFailed,
    FieldError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    RateLimited,
    RequestTimeout,
    ServerError,
    UnexpectedAnswer,
    UnsendableValue,
    WaitTimeout,
)
from .models.access import ApiKey, AuditEvent, IssuedKey, Member, Permission, Role
from .models.completions import BatchItem, BatchSubmitted, Completion, Submitted
from .models.exports import Export, ExportedFile, ExportError, ExportFile, ExportLink
from .models.graders import (
    Capabilities,
    Credentials,
    Grader,
    GraderRegistration,
    GraderStats,
    GraderVersion,
    Limits,
    Verification,
)
from .models.pages import Page
from .models.retention import Erasure, LegalHold
from .models.reviews import Review
from .models.rewards import (
    EndpointCounts,
    LiveReward,
    PreferencePair,
    PreferencePairs,
    RewardEndpoint,
    RewardEndpointRegistration,
)
from .models.runs import FailedAttempt, FailedCall, Retried, RetrySkip, WorkflowRun, WorkflowRunError, WorkflowRunStep
from .models.scores import Calibrated, Dimension, Outcome, Reward, Score, ScoreResult, ScoreSummary, WaitingFor
from .models.tasks import PanelMember, Task, TaskDetail, TaskVersion
from .models.webhooks import Delivery, DeliveryTry, Webhook, WebhookEvent, WebhookRegistration
from .resources.exports import ExportNotCompleted
from .webhooks import WebhookRefused, verify_webhook

__all__ = [
    "APIError",
    "ApiKey",
    "AuditEvent",
    "AuthenticationError",
    "AutotuneClient",
    "AutotuneError",
    "BatchItem",
    "BatchSubmitted",
    "BrokenExport",
    "Calibrated",
    "Capabilities",
    "Completion",
    "ConfigurationError",
    "ConflictError",
    "ConnectionFailed",
    "Credentials",
    "DamagedFile",
    "Delivery",
    "DeliveryTry",
    "Dimension",
    "EndpointCounts",
    "Erasure",
    "Export",
    "ExportError",
    "ExportFile",
    "ExportLink",
    "ExportNotCompleted",
    "ExportedFile",
    "FailedAttempt",
    "FailedCall",
    "FieldError",
    "Grader",
    "GraderRegistration",
    "GraderStats",
    "GraderVersion",
    "InvalidRequest",
    "IssuedKey",
    "LegalHold",
    "Limits",
    "LiveReward",
    "Member",
    "NotFound",
    "Outcome",
    "Page",
    "PanelMember",
    "Permission",
    "PermissionDenied",
    "PreferencePair",
    "PreferencePairs",
    "RateLimited",
    "RequestTimeout",
    "Retried",
    "RetrySkip",
    "Review",
    "Reward",
    "RewardEndpoint",
    "RewardEndpointRegistration",
    "Role",
    "Score",
    "ScoreResult",
    "ScoreSummary",
    "ServerError",
    "Submitted",
    "Task",
    "TaskDetail",
    "TaskVersion",
    "UnexpectedAnswer",
    "UnsendableValue",
    "Verification",
    "WaitTimeout",
    "WaitingFor",
    "Webhook",
    "WebhookEvent",
    "WebhookRefused",
    "WebhookRegistration",
    "WorkflowRun",
    "WorkflowRunError",
    "WorkflowRunStep",
    "__version__",
    "verify_webhook",
]
