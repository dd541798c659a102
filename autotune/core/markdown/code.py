"""Render code as HTML, in colours where its language is known and the bounds of the page allow it."""

import time
from typing import Any, Final

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType

from autotune.core.markdown.budget import RenderingBudget
from autotune.core.markdown.visible import attribute, visible

MAX_LINE: Final = 1_000  # a longer line is not code that somebody reads
MAX_LANGUAGE: Final = 60  # characters of the words behind a fence

# Languages by the names that models write. Only lexers that read hostile text in linear time (a test holds them to it).
LANGUAGES: Final = {
    "bash": "bash", "sh": "bash", "shell": "bash", "zsh": "bash", "c": "c", "h": "c", "c++": "cpp", "cpp": "cpp",
    "cs": "csharp", "csharp": "csharp", "css": "css", "diff": "diff", "patch": "diff", "go": "go", "golang": "go",
    "html": "html", "xml": "xml", "ini": "ini", "java": "java", "javascript": "javascript", "js": "javascript",
    "jsx": "javascript", "json": "json", "jsonc": "json", "kotlin": "kotlin", "lua": "lua", "php": "php",
    "py": "python", "python": "python", "python3": "python", "r": "r", "rb": "ruby", "ruby": "ruby", "rs": "rust",
    "rust": "rust", "sql": "sql", "swift": "swift", "toml": "toml", "ts": "typescript", "tsx": "typescript",
    "typescript": "typescript", "yaml": "yaml", "yml": "yaml",
}  # fmt: skip
# A class for each family of tokens, most special first; a token without one is plain.
_CLASSES: Final = (
    (Token.Comment, "hl-comment"), (Token.Keyword, "hl-keyword"), (Token.Operator.Word, "hl-keyword"),
    (Token.Literal.String, "hl-string"), (Token.Literal.Number, "hl-number"), (Token.Name.Function, "hl-name"),
    (Token.Name.Class, "hl-name"), (Token.Name.Tag, "hl-keyword"), (Token.Name.Attribute, "hl-name"),
    (Token.Name.Builtin, "hl-builtin"), (Token.Name.Decorator, "hl-builtin"), (Token.Name.Exception, "hl-builtin"),
    (Token.Generic.Inserted, "hl-inserted"), (Token.Generic.Deleted, "hl-deleted"),
    (Token.Generic.Heading, "hl-keyword"), (Token.Generic.Subheading, "hl-keyword"),
)  # fmt: skip
CLASSES: Final = frozenset(name for _, name in _CLASSES)


def code_block(code: str, info: str, budget: RenderingBudget) -> str:
    """Render a block of code under the words behind its fence, of which the first names the language."""
    words = info.split()
    caption = " ".join(words)[:MAX_LANGUAGE]
    label = f"Code in {attribute(words[0][:30])}" if words else "Code"
    html = _coloured(code, words[0] if words else "", budget) or visible(code, budget)
    return (
        f'<figure class="code-block"><figcaption>{f"<bdi>{visible(caption, budget)}</bdi>" if caption else "code"}'
        f'</figcaption><pre class="code" tabindex="0" role="group" aria-label="{label}"><code>{html}</code></pre>'
        "</figure>"
    )


def _coloured(code: str, language: str, budget: RenderingBudget) -> str | None:
    """Code in colours; None for a language that is not known, and for what lies beyond the bounds."""
    lexer = _lexer(language, budget)
    if lexer is None or len(code) > budget.colours or any(len(line) > MAX_LINE for line in code.split("\n")):
        return None
    budget.colours -= len(code)
    runs, kind = [], ""
    stretch: list[str] = []
    for _, token, text in lexer.get_tokens_unprocessed(code):
        token_class = _class(token)
        if token_class != kind and not text.isspace():
            runs.append((kind, "".join(stretch)))
            stretch, kind = [], token_class
        stretch.append(text)
        if budget.is_spent:
            return None
    runs.append((kind, "".join(stretch)))
    return "".join(_run(kind, text, budget) for kind, text in runs)


def _run(kind: str, text: str, budget: RenderingBudget) -> str:
    html = visible(text, budget)
    return f'<span class="{kind}">{html}</span>' if kind else html


_lexers: dict[str, Lexer] = {}


def _lexer(language: str, budget: RenderingBudget) -> Any:
    lexer_name = LANGUAGES.get(language.lower())
    if lexer_name is None:
        return None
    if lexer_name not in _lexers:
        before = time.thread_time()
        _lexers[lexer_name] = get_lexer_by_name(lexer_name)
        budget.ends += time.thread_time() - before  # a lexer is made once in a process, so it costs no text its time
    return _lexers[lexer_name]


_classes: dict[_TokenType, str] = {}


def _class(token: _TokenType) -> str:
    if token not in _classes:
        _classes[token] = next((name for family, name in _CLASSES if token in family), "")
    return _classes[token]
