"""Read the fenced examples of the documentation. The comment above each one states how the tests run it:

<!-- run: live -->                   against the running demo, with the names in `GIVEN` of the surroundings
<!-- run: live, given task -->       the same, with a name that the page takes for granted
<!-- run: file my_grader.py -->      saved under this name, and imported
<!-- run: background -->             as a command that continues until the page has ended
<!-- run: production -->             in its own checkout, with an empty PostgreSQL database
<!-- run by: make example-grpo -->   by this command or test, with the program that the page is about
<!-- not run: why -->

`<!-- answer: 201 -->` above a block of JSON states the status of the answer that the example before it gets; the block
is compared with the real answer (tests/support/answers.py).
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("README.md", "SECURITY.md", "docs/**/*.md", "examples/**/*.md", "bench/*.md", "sdk/python/*.md")
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))
CODE = {"python", "bash", "json", "yaml", "toml", "nginx"}
NO_CODE = {"text", "mermaid"}
FENCE = re.compile(
    r"(?:^<!-- (?P<how>run by|run|not run|answer): (?P<what>[^\n]*?) -->\n)?^```(?P<language>[^\n]*)\n(?P<source>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Snippet:
    """One fenced block.

    how    'run', 'run by', 'not run', 'answer', or '' without a comment above it
    what   the rest of the comment: the surroundings, the other command or test, the reason, or the status
    """

    page: str
    line: int
    language: str
    source: str
    how: str
    what: str

    @property
    def surroundings(self) -> str:
        return self.what.partition(",")[0].partition(" ")[0] if self.how == "run" else ""

    @property
    def file(self) -> str:
        """The name under which readers should save it."""
        return self.what.removeprefix("file ").partition(",")[0] if self.surroundings == "file" else ""

    @property
    def script(self) -> str:
        """The file name of the program, if the example is one."""
        return self.what.removeprefix("script ").partition(",")[0] if self.surroundings == "script" else ""

    @property
    def times(self) -> int:
        return 2 if ", twice" in self.what else 1

    @property
    def prints(self) -> str:
        return self.what.partition("prints ")[2] if self.how == "run" else ""

    @property
    def assumed_names(self) -> list[str]:
        """The names that the page assumes to exist."""
        names = re.search(r"\bgiven ([^,]+)", self.what)
        return names[1].split() if names and self.how in ("run", "run by") else []

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def snippets_of(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(ROOT))
    return [
        Snippet(
            page=name,
            line=text.count("\n", 0, match.start("source")) + 1,
            language=match["language"],
            source=match["source"],
            how=match["how"] or "",
            what=match["what"] or "",
        )
        for match in FENCE.finditer(text)
    ]


SNIPPETS = [snippet for page in PAGES for snippet in snippets_of(page)]
