"""One call to a grader of the harness, and the ways to answer it."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from common import dumps, sign, value_of
from stub_grader import Replays

if TYPE_CHECKING:
    import asyncio

    from .journal import Writer

OK = {200: b"OK", 202: b"Accepted"}


@dataclass
class Personality:
    """A grader: several live in one process, distinguished by their path. `memory` is for its misbehaviour."""

    name: str
    journal: "Writer"
    mode: str = "good"
    latency_ms: float = 0.0
    max_batch: int = 100
    supports_async: bool = False
    keys: list[bytes] = field(default_factory=list)  # the newest signs
    replays: Replays = field(default_factory=Replays)
    calls: int = 0
    out: int = 0  # calls at the moment
    peak: int = 0
    memory: dict = field(default_factory=dict)

    def health(self) -> dict:
        return {
            "status": "healthy",
            "version": "faults-1",
            "capabilities": {
                "maxBatchSize": self.max_batch,
                "supportsDimensions": False,
                "supportsExplanations": False,
                "supportsAsync": self.supports_async,
                "avgLatencyMs": int(self.latency_ms),
                "domains": [],
            },
        }


@dataclass
class Exchange:
    """A request whose signature was good. `content` is its body, `sent` the signature that it came with."""

    who: Personality
    transport: "asyncio.Transport"
    path: bytes
    request: str
    sent: bytes
    content: dict

    @property
    def completions(self) -> list[dict]:
        return self.content["completions"] if "completions" in self.content else [self.content["completion"]]

    @property
    def items(self) -> list[str]:
        return [completion["id"] for completion in self.completions]

    def good(self) -> dict:
        """The right answer."""
        scores = [score(completion) for completion in self.completions]
        if "completion" in self.content:
            return {"requestId": self.request, "score": scores[0], "processingTimeMs": 1}
        entries = [{"completionId": item, "score": item_score} for item, item_score in zip(self.items, scores)]
        return {"requestId": self.request, "scores": entries, "processingTimeMs": 1}

    def seal(
        self, body: bytes, *, request: str | None = None, at: float | None = None, key: bytes | None = None
    ) -> bytes:
        """The two headers of an answer, as of another request, another time or another secret if given."""
        stamp = b"%d" % (time.time() if at is None else at)
        signature = sign(key or self.who.keys[0], stamp, (request or self.request).encode(), body)
        return b"X-Autotune-Response-Timestamp: %b\r\nX-Autotune-Response-Signature: %b\r\n" % (
            stamp,
            signature.encode(),
        )

    def answer_well(self) -> None:
        """The right answer, and its entry in the journal, which comes first: what was sent is never missing there."""
        self.who.journal.note("answer", self.who.name, self.request, self.items)
        self.answer(dumps(self.good()))

    def answer(
        self, body: bytes, *, status: int = 200, headers: bytes | None = None, kind: bytes = b"application/json"
    ) -> None:
        """`headers` None: signed as is right."""
        headers = self.seal(body) if headers is None else headers
        self.raw(
            b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n%b"
            % (status, OK.get(status, b"-"), kind, len(body), headers, body)
        )

    def raw(self, content: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(content)

    @property
    def over(self) -> bool:
        return self.transport.is_closing()


def score(completion: dict) -> dict:
    """The score that anybody can compute again."""
    return {"value": value_of(completion["id"], completion["response"]), "confidence": 0.9}
