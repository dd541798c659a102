"""What a scenario found, and the table of all."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from .checker import Findings


@dataclass
class Result:
    """`problems` empty: everything that was promised held. `figures` are for people."""

    name: str
    seconds: float = 0.0
    figures: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Result":
        """A result that was printed."""
        own_fields = ("scenario", "ok", "seconds", "problems")
        figures = {name: value for name, value in line.items() if name not in own_fields}
        return cls(line["scenario"], line["seconds"], figures, line.get("problems", []))

    @property
    def ok(self) -> bool:
        return not self.problems

    def require(self, what: str, holds: bool, seen: Any = "") -> None:
        """A promise, and whether it was kept."""
        if not holds:
            self.problems.append(f"{what}: {seen}" if seen != "" else what)

    def take(self, findings: Findings) -> None:
        """The checker's figures and faults."""
        figures = asdict(findings)
        figures.pop("examples")
        kept = ("submitted", "completions", "scores", "calls", "attempts", "failedRuns")
        self.figures |= {name: figures[name] for name in kept}
        self.figures |= {"lost": findings.lost + findings.unfinished + findings.scoreMissing,
                         "doubled": findings.scoreDoubled + findings.rewardDoubled + findings.storedTwice,
                         "wrong": findings.wrongValue + findings.wrongReward}  # fmt: skip
        self.problems += [f"{count} x {name}" for name, count in findings.faults.items()]
        self.problems += [f"  {line}" for line in findings.examples]

    def line(self) -> str:
        return json.dumps({"scenario": self.name, "ok": self.ok, "seconds": round(self.seconds, 1), **self.figures,
                           **({"problems": self.problems} if self.problems else {})})  # fmt: skip


def table(results: list[Result]) -> str:
    """One line for each scenario."""
    head = ("scenario", "held", "s", "submitted", "scores", "calls", "lost", "doubled", "wrong")
    rows = [head] + [
        (r.name, "yes" if r.ok else "NO", f"{r.seconds:.0f}", *(str(r.figures.get(name, "-")) for name in head[3:]))
        for r in results
    ]
    width = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["| " + " | ".join(x.ljust(w) if i < 2 else x.rjust(w) for i, (x, w) in enumerate(zip(row, width))) + " |" for row in rows]  # fmt: skip
    lines.insert(1, "| " + " | ".join("-" * w if i < 2 else "-" * (w - 1) + ":" for i, w in enumerate(width)) + " |")
    return "\n".join(lines)
