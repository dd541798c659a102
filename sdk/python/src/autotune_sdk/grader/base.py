"""What a grader is apart from serving: its name, version and secrets, and the scoring functions that it runs."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from .itemlog import ItemLog
from .later import Work
from .protocol import ReplayCache
from .results import Completion, Graded, InvalidScore, Options, Score, to_score
from .secrets import Secrets

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
P = ParamSpec("P")
Verdict = Score | Exception
MAX_PROTOCOL_BATCH = 1000
LATENCY_SHARE = 0.05  # weight of the newest call in the mean latency


class BaseGrader:
    """A grader that judges but does not serve. `Grader` documents the arguments."""

    def __init__(
        self,
        name: str,
        version: str,
        *,
        max_batch_size: int = 100,
        supports_dimensions: bool = False,
        supports_explanations: bool = False,
        domains: Sequence[str] = (),
        secret: str | Iterable[str] | None = None,
        secret_file: str | os.PathLike[str] | None = None,
        threads: int = 32,
        on_graded: Callable[[Graded], None] | None = None,
    ) -> None:
        if not 1 <= max_batch_size <= MAX_PROTOCOL_BATCH:
            raise ValueError(f"max_batch_size is 1 to {MAX_PROTOCOL_BATCH}")
        self.name, self.version, self.max_batch_size = name, version, max_batch_size
        self.supports_dimensions, self.supports_explanations = supports_dimensions, supports_explanations
        self.domains, self.threads, self.on_graded = tuple(domains), threads, on_graded
        self.status = "healthy"  # or 'degraded', 'unhealthy': what /health says
        self.secrets = Secrets(secret, secret_file)
        self.replays = ReplayCache()
        self.item_log: ItemLog | None = None
        self._score: Callable[[Completion, Options], Any] | None = None
        self._score_batch: Callable[[list[Completion], Options], Any] | None = None
        self._later: Callable[[Work], Any] | None = None
        self._latency_ms: float | None = None
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def score(self, function: F) -> F:
        """Decorate the scoring function: (completion) or (completion, options) -> number, Score, or
        (value, confidence[, reasoning]). It runs in several threads at once. It may raise CannotJudge; any other
        exception makes the platform retry."""
        self._score = _two_arguments(function)
        return function

    def score_batch(self, function: F) -> F:
        """Decorate a function for many at once: (completions) or (completions, options) -> a list in the same order,
        or a mapping by id; a CannotJudge object in place of a score is an error only for that item."""
        self._score_batch = _two_arguments(function)
        return function

    def later(self, function: F) -> F:
        """Decorate a function that stores work durably, to answer it with `call_back`: (work) -> None, or False for
        work that the scoring function must answer at once. If it raises, the platform retries."""
        self._later = function
        return function

    def accepts(self, work: Work) -> bool:
        """Return whether the work was stored for later."""
        return self._later is not None and self._later(work) is not False

    def judge(self, completions: list[Completion], options: Options) -> list[Verdict]:
        """Return a verdict for each: a Score, InvalidScore, CannotJudge, or the exception that the function raised."""
        if self._score is None and self._score_batch is None:
            raise RuntimeError("the grader has no scoring function: decorate one with @grader.score")
        if self._score_batch is not None and (len(completions) > 1 or self._score is None):
            verdicts = _attempted(self._batch_verdicts, self._score_batch, completions, options)
            return [verdicts] * len(completions) if isinstance(verdicts, Exception) else verdicts
        assert self._score is not None
        return [_attempted(_verdict, self._score, completion, options) for completion in completions]

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Return the threads in which an ASGI server runs this grader."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="grader")
            return self._pool

    def log_to(self, path: str | os.PathLike[str]) -> None:
        """Append one JSON line for each graded item to a file, flushed before the response is sent."""
        self.item_log = ItemLog(path)

    def record(self, items: Sequence[Graded]) -> None:
        """Pass the items of one response to the log and the hook."""
        if self.item_log is not None:
            self.item_log.write(items)
        if self.on_graded is not None:
            for item in items:
                self.on_graded(item)

    def observe(self, milliseconds: float) -> None:
        """Add the duration of one call to the mean latency."""
        with self._lock:
            before = self._latency_ms
            self._latency_ms = milliseconds if before is None else before + LATENCY_SHARE * (milliseconds - before)

    def health(self) -> dict[str, Any]:
        """Return the body of /health."""
        return {
            "status": self.status,
            "version": self.version,
            "capabilities": {
                "maxBatchSize": self.max_batch_size,
                "supportsDimensions": self.supports_dimensions,
                "supportsExplanations": self.supports_explanations,
                "supportsAsync": self._later is not None,
                "avgLatencyMs": round(self._latency_ms or 0),
                "domains": list(self.domains),
            },
        }

    def __repr__(self) -> str:
        return f"Grader({self.name!r}, {self.version!r})"

    def _batch_verdicts(
        self,
        function: Callable[[list[Completion], Options], Any],
        completions: list[Completion],
        options: Options,
    ) -> list[Verdict]:
        results = function(completions, options)
        if isinstance(results, Mapping):
            missing = [c.id for c in completions if c.id not in results]
            if missing:
                raise ValueError(f"score_batch returned no result for {len(missing)} of {len(completions)} completions")
            results = [results[c.id] for c in completions]
        results = list(results)
        if len(results) != len(completions):
            raise ValueError(f"score_batch returned {len(results)} results for {len(completions)} completions")
        return [_checked(result) for result in results]


def _verdict(function: Callable[[Completion, Options], Any], completion: Completion, options: Options) -> Verdict:
    return to_score(function(completion, options))


def _attempted(judge: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Exception:
    """Return the result of `judge`, or the exception that it raised: it belongs to the items that it judged."""
    try:
        return judge(*args, **kwargs)
    except Exception as exc:  # noqa: BLE001  a scoring function may raise anything
        return exc


def _checked(result: Any) -> Verdict:
    if isinstance(result, Exception):
        return result
    try:
        return to_score(result)
    except InvalidScore as exc:
        return exc


def _two_arguments(function: Callable[..., Any]) -> Callable[[Any, Options], Any]:
    """Wrap the function as one that accepts options. Raises TypeError for a coroutine: scoring runs in threads."""
    if inspect.iscoroutinefunction(function):
        raise TypeError("a scoring function must be a plain function, not a coroutine; it runs in its own thread")
    try:
        inspect.signature(function).bind(None, None)
    except (TypeError, ValueError):
        return lambda first, options: function(first)
    return function
