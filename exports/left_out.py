"""What an export leaves out, and why: conversations that its rows cannot carry whole, and text that is gone.

The form of a conversation is a plain column, so rows are chosen and counted without decrypting any.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import Count, Q

from autotune.core.connections import release
from exports.inputs import ExportQuery
from tasks.states import Form

Forms = frozenset[str]
ALL: Final[Forms] = frozenset(Form.values)
ERASED: Final = "erased"
UNSORTED: Final = "unsorted"
UNREADABLE: Final = "unreadable"
TOOLS_DIFFER: Final = "tools_differ"
REASONS: Final[Mapping[str | None, str]] = {
    Form.CHAT.value: "conversation",
    Form.TOOLS.value: "tools",
    Form.PARTS.value: "parts",
    None: UNSORTED,
}
SENTENCES: Final = {
    ERASED: "The text was erased.",
    "conversation": "Conversations of several messages: ask with conversational=true.",
    "tools": "Tool calls, results of tools or named speakers: ask with conversational=true and tools=true.",
    "parts": "Images or other content that is not text: only `messages` of layout=records has it.",
    UNSORTED: "Stored by an earlier release and not examined yet: ask again in some minutes.",
    UNREADABLE: "The text cannot be decrypted.",
    TOOLS_DIFFER: "The two answers of a pair were offered different tools.",
}
_VERL_TOOLS: Final = "Tool calls, results of tools or named speakers, which layout=verl has no columns for."


def carried(query: ExportQuery) -> Forms:
    """The forms of conversations that the query's rows carry whole."""
    if query.layout == "records" and not query.conversational:
        return ALL
    return carried_by(conversational=query.conversational or query.layout == "verl", tools=query.tools)


def carried_by(*, conversational: bool, tools: bool = False) -> Forms:
    """The same of texts, of messages, and of messages with the members of tool calls."""
    forms = [Form.PROMPT.value, *([Form.CHAT.value] if conversational else []), *([Form.TOOLS.value] if tools else [])]
    return frozenset(forms)


def fitting(completions: Any, forms: Forms) -> Any:
    """The completions of a queryset whose conversations have one of these forms."""
    return completions if forms == ALL else completions.filter(form__in=sorted(forms))


def unfit(completions: Any, forms: Forms) -> Any:
    """The others, also those whose form is not known yet."""
    return completions.none() if forms == ALL else completions.exclude(form__in=sorted(forms))


def counted(completions: Any, forms: Forms) -> Counter[str]:
    """How many completions of a queryset make no pair or prompt, by reason; erased ones are not among them."""
    present = completions.filter(erased_at=None).order_by()
    with_digest = unfit(present.filter(prompt_digest__gt=b""), forms)
    reasons = Counter({REASONS[form]: n for form, n in with_digest.values_list("form").annotate(n=Count("pk"))})
    return reasons + undigested(present)


def undigested(completions: Any) -> Counter[str]:
    """Those without a digest of the prompt, by reason: not examined yet, or not to be read any more."""
    waiting = completions.filter(Q(prompt_digest=None) | Q(prompt_digest=b""), erased_at=None).order_by()
    digests = waiting.values_list("prompt_digest").annotate(n=Count("pk"))
    reasons = Counter({UNSORTED if digest is None else UNREADABLE: n for digest, n in digests})
    release()
    return reasons


def by_reason(total: int, reasons: Mapping[str, int]) -> dict[str, int]:
    """All that was left out by reason, sorted: what has no other reason was erased."""
    erased = total - sum(reasons.values())
    whole = {**reasons, ERASED: reasons.get(ERASED, 0) + erased}
    return {reason: whole[reason] for reason in sorted(whole) if whole[reason] > 0}


def sentences(reasons: Mapping[str, int], layout: str) -> list[tuple[int, str]]:
    """(how many, why and what to ask for instead), the most frequent reason first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return [(n, sentence(reason, layout)) for reason, n in ordered]


def sentence(reason: str, layout: str) -> str:
    if layout == "verl" and reason == "tools":
        return _VERL_TOOLS
    return SENTENCES.get(reason, reason)


def tally(forms: Iterable[str | None]) -> Counter[str]:
    """How many there are of each reason, of forms that do not fit."""
    return Counter(REASONS[form] for form in forms)
