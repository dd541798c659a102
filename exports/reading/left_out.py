"""Find and count the rows that an export leaves out: their conversation does not fit, or their text is missing.

The form of a conversation is an unencrypted column, so Autotune selects and counts rows without decrypting them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import Count, Q

from autotune.core.connections import release
from exports.requests import ExportQuery
from tasks.states import ConversationShape

Forms = frozenset[str]
ALL: Final[Forms] = frozenset(ConversationShape.values)
ERASED: Final = "erased"
UNSORTED: Final = "unsorted"
UNREADABLE: Final = "unreadable"
TOOLS_DIFFER: Final = "tools_differ"
REASONS: Final[Mapping[str | None, str]] = {
    ConversationShape.CHAT.value: "conversation",
    ConversationShape.TOOLS.value: "tools",
    ConversationShape.PARTS.value: "parts",
    None: UNSORTED,
}
SENTENCES: Final = {
    ERASED: "The text was erased.",
    "conversation": "Conversations of several messages: set conversational=true.",
    "tools": "Tool calls, tool results or named speakers: set conversational=true and tools=true.",
    "parts": "Images or other content that is not text: only `messages` of layout=records includes it.",
    UNSORTED: "Autotune has not examined the conversation yet: try again in a few minutes.",
    UNREADABLE: "The text cannot be decrypted.",
    TOOLS_DIFFER: "The two answers of a pair were offered different tools.",
}
_VERL_TOOLS: Final = "Tool calls, tool results or named speakers: layout=verl has no columns for them."


def carried(query: ExportQuery) -> Forms:
    """Return the forms of conversations that the query's rows can carry completely."""
    if query.layout == "records" and not query.conversational:
        return ALL
    return carried_by(conversational=query.conversational or query.layout == "verl", tools=query.tools)


def carried_by(*, conversational: bool, tools: bool = False) -> Forms:
    """Return the forms that fit into plain text, into messages (`conversational`), or into tool calls (`tools`)."""
    forms = [
        ConversationShape.PROMPT.value,
        *([ConversationShape.CHAT.value] if conversational else []),
        *([ConversationShape.TOOLS.value] if tools else []),
    ]
    return frozenset(forms)


def fitting(completions: Any, forms: Forms) -> Any:
    """Return the completions of a queryset whose conversations have one of these forms."""
    return completions if forms == ALL else completions.filter(form__in=sorted(forms))


def unfit(completions: Any, forms: Forms) -> Any:
    """Return the completions that do not fit, including those whose form is not known yet."""
    return completions.none() if forms == ALL else completions.exclude(form__in=sorted(forms))


def counted(completions: Any, forms: Forms) -> Counter[str]:
    """Count the completions of a queryset that make no pair or prompt, by reason. Skips erased completions."""
    present = completions.filter(erased_at=None).order_by()
    with_digest = unfit(present.filter(prompt_digest__gt=b""), forms)
    reasons = Counter({REASONS[form]: n for form, n in with_digest.values_list("form").annotate(n=Count("pk"))})
    return reasons + undigested(present)


def undigested(completions: Any) -> Counter[str]:
    """Count the completions without a prompt digest, by reason: not examined yet, or unreadable."""
    waiting = completions.filter(Q(prompt_digest=None) | Q(prompt_digest=b""), erased_at=None).order_by()
    digests = waiting.values_list("prompt_digest").annotate(n=Count("pk"))
    reasons = Counter({UNSORTED if digest is None else UNREADABLE: n for digest, n in digests})
    release()
    return reasons


def by_reason(total: int, reasons: Mapping[str, int]) -> dict[str, int]:
    """Count all rows left out by reason, sorted. Rows without another reason were erased."""
    erased = total - sum(reasons.values())
    counts = {**reasons, ERASED: reasons.get(ERASED, 0) + erased}
    return {reason: counts[reason] for reason in sorted(counts) if counts[reason] > 0}


def sentences(reasons: Mapping[str, int], layout: str) -> list[tuple[int, str]]:
    """(count, sentence with the reason and what to set instead), the most frequent reason first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return [(n, sentence(reason, layout)) for reason, n in ordered]


def sentence(reason: str, layout: str) -> str:
    if layout == "verl" and reason == "tools":
        return _VERL_TOOLS
    return SENTENCES.get(reason, reason)


def tally(forms: Iterable[str | None]) -> Counter[str]:
    """Count forms that do not fit, by reason."""
    return Counter(REASONS[form] for form in forms)
