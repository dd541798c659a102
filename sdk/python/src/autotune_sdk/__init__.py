"""Autotune for Python: the client. The grader kit is `autotune_sdk.grader`, the command line is `autotune`.

from autotune_sdk import AutotuneClient

with AutotuneClient() as client:                      # AUTOTUNE_API_KEY, AUTOTUNE_BASE_URL
    sent = client.completions.submit(task_id="task_…", model_id="m-1", prompt="2+2?", response="4")
    print(client.completions.wait_for_score(sent.completion.id).value)
"""

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
from .models import (
    BatchItem,
    BatchSubmitted,
    Completion,
    Dimension,
    ExportFile,
    Outcome,
    Page,
    Reward,
    Score,
    ScoreResult,
    ScoreSummary,
    Submitted,
)
from .models_graders import (
    Capabilities,
    Credentials,
    Grader,
    GraderRegistration,
    GraderStats,
    GraderVersion,
    Limits,
    Verification,
)
from .models_tasks import PanelMember, Task, TaskDetail, TaskVersion

__all__ = [
    "APIError",
    "AuthenticationError",
    "AutotuneClient",
    "AutotuneError",
    "BatchItem",
    "BatchSubmitted",
    "Capabilities",
    "Completion",
    "ConfigurationError",
    "ConflictError",
    "ConnectionFailed",
    "Credentials",
    "Dimension",
    "ExportFile",
    "FieldError",
    "Grader",
    "GraderRegistration",
    "GraderStats",
    "GraderVersion",
    "InvalidRequest",
    "Limits",
    "NotFound",
    "Outcome",
    "Page",
    "PanelMember",
    "PermissionDenied",
    "RateLimited",
    "RequestTimeout",
    "Reward",
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
    "__version__",
]
