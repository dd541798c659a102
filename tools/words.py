"""Check documentation, pages, messages and docstrings for words and constructions that read as if translated.

  words.py [PATH ...]    the files and folders to check; without one, all of the project. Exit status 1 on a breach.

Checked are Markdown outside fenced blocks, templates, and the strings and comments of Python and JavaScript.
docs/vocabulary.md names the words of the field, CONTRIBUTING.md says how we write.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CHECKED = (
    *("README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "sdk/python/README.md", "templates"),
    *("static/js", "autotune", "graders", "tasks", "scores", "exports", "sdk/python/src", "tools", "tests", "bench"),
)
BETTER = {  # a word or construction, as a regular expression: what to write
    r"affairs?": "responsible, depends on",
    r"anew": "again",
    r"alone": "only, by itself",
    r"begun": "started",
    r"stands?|standing": "is, state, progress",
    r"tells?|told": "reports, shows, notifies",
    r"(a|another|every|each|one|first|last) look(s)?( at| around)?": "a check",
    r"overlooked|looked at": "missed, checked",
    r"octets?": "bytes",
    r"mend(s|ed|ing)?": "fix, repair",
    r"(had|have|has|get) back": "recovered, returned",
    r"(be|is|are) had": "exists, is available",
    r"(do|does) no harm": "is safe",
    r"since ever": "so far",
    r"once more": "again",
    r"desk of reviews": "review queue",
    r"comes? to (its|their) end": "ends, finishes",
    r"whoever|whosoever": "anyone who, callers that",
    r"whose turn": "next",
    r"(gives?|gave|given) back": "returns, releases",
    r"(makes?|made) good": "repairs",
    r"of (two|several|many)(,)? one": "one of them",
    r"go(es)? out": "is sent",
    r"by and by": "gradually",
}  # fmt: skip
RULES = tuple(
    (re.compile(rf"(?<![\w`/-])(?:{pattern})(?![\w`/=(-])", re.IGNORECASE), better)
    for pattern, better in BETTER.items()
)
ALLOWED = frozenset(  # "path: word", each with its reason beside it
    {
        "scores/admin/counters.py: standing",  # ScoreCount.standing, a column that triggers write
        "scores/counters/folding.py: standing",
        "scores/counters/triggers.py: standing",
        "scores/models/counters.py: standing",
        "tools/commits.py: tell",  # lists of verbs
        "tools/commits.py: told",
        "tools/names.py: told",  # a banned name
    }
)
EXAMPLES = frozenset({"tools/words.py", "tests/house/test_words.py"})  # they quote the words
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_JAVASCRIPT = re.compile(r"(?<!:)//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`", re.DOTALL)
_TAG = re.compile(r"{%.*?%}|{{.*?}}|<[^>]*>", re.DOTALL)


class Breach(NamedTuple):
    path: str
    line: int
    words: str
    better: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: `{self.words}`: {self.better}"


def breaches(root: Path, paths: tuple[str, ...] = CHECKED) -> list[Breach]:
    """Return every such word in the files under `paths`, without migrations."""
    return sorted(
        Breach(path, line + text.count("\n", 0, match.start()), match[0], better)
        for path, line, text in _texts(root, paths)
        for rule, better in RULES
        for match in rule.finditer(text)
        if f"{path}: {match[0].lower()}" not in ALLOWED
    )


def _texts(root: Path, paths: tuple[str, ...]) -> Iterator[tuple[str, int, str]]:
    """Yield (path, line of its start, text) of all prose under `paths`."""
    for start in paths:
        files = [root / start] if (root / start).is_file() else sorted((root / start).rglob("*.*"))
        for file in files:
            path = file.relative_to(root)
            if {"migrations", "node_modules"} & set(path.parts) or str(path) in EXAMPLES:
                continue
            if file.suffix == ".md":
                yield str(path), 1, _FENCE.sub(_blank, file.read_text(encoding="utf-8"))
            elif file.suffix in {".html", ".txt"} and path.parts[0] == "templates":
                yield str(path), 1, _TAG.sub(_blank, file.read_text(encoding="utf-8"))
            elif file.suffix == ".js":
                source = file.read_text(encoding="utf-8")
                for match in _JAVASCRIPT.finditer(source):
                    yield str(path), 1 + source.count("\n", 0, match.start()), match[0]
            elif file.suffix == ".py":
                yield from ((str(path), line, text) for line, text in _prose(file.read_text(encoding="utf-8")))


def _blank(match: re.Match[str]) -> str:
    """Return as many empty lines as the match has."""
    return "\n" * match[0].count("\n")


def _prose(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in {tokenize.STRING, tokenize.COMMENT}:
            yield token.start[0], token.string


def main(arguments: list[str]) -> int:
    lines = breaches(Path.cwd(), tuple(arguments) or CHECKED)
    for line in lines:
        print(line)
    print(f"words: {len(lines)} breaches" if lines else "words: in order")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
