"""Build one response with a sample of a task's preference pairs and their text."""

from collections.abc import Collection, Sequence
from typing import Any, Final
from uuid import UUID

from autotune.access import idempotency, policy
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from autotune.core.connections import release
from autotune.core.errors import Invalid, NotFound
from exports.pairs import selection as pairs
from exports.pairs.requests import PairsRequest
from exports.pairs.selection import Pair, PairChoice
from exports.reading import left_out, prompts, ranges
from exports.reading.conversations import Conversations
from exports.reading.prompts import TextSize
from exports.reading.ranges import DecryptedText
from exports.reading.readers import CONVERSATION_SIZE
from exports.requests import check_cap
from tasks.models import Completion, Task
from tasks.states import TRAINING_SOURCES

RESOURCE: Final = "preference_pairs"
ROUTE: Final = "POST /api/v1/preference-pairs"
MAX_BYTES: Final = 32 * 1024 * 1024  # of the text in a response, which is built in memory


class MessageOut(ApiStruct):
    role: str
    content: str


class PairOut(ApiStruct):
    """Two answers to a prompt and their rewards: text, or with `conversational` lists of messages."""

    prompt: str | list[MessageOut]
    chosen: str | list[MessageOut]
    rejected: str | list[MessageOut]
    chosen_score: float
    rejected_score: float


class PairsOut(ApiStruct, dict=True):
    """The sample, and how many pairs it was drawn from. Its attribute `task_id` is not part of the response.

    `leftOut`: rewarded completions that are in no pair because their conversation does not fit, and drawn pairs whose
    text has been erased since or cannot be read; `leftOutByReason` counts them by reason.
    """

    pairs: list[PairOut]
    available: int
    left_out: int
    left_out_by_reason: dict[str, int]


def answer(principal: Principal, query: PairsRequest) -> PairsOut:
    """Draw a sample of the pairs: the same for the same seed as long as the rewards do not change.

    raises  NotFound for a task that the caller may not see; Invalid for a cap without effect, or if the text is too
            large for one response
    """
    check_cap(query.cap_per_prompt, query.strategy, pointer_prefix="/")
    task = query.task_id.uuid
    choice = PairChoice(
        query.strategy or pairs.BEST_WORST, query.min_score_delta, query.cap_per_prompt, query.seed or 0
    )
    forms = left_out.carried_by(conversational=bool(query.conversational))
    rewarded = _rewarded(principal, task, query.model_id, query.source or TRAINING_SOURCES)
    sample, available = pairs.sample(left_out.fitting(rewarded, forms), choice, query.sample_size)
    reasons = left_out.counted(rewarded, forms)
    release()
    _check_size(sample)
    sample_out, damaged = (_as_messages if query.conversational else _as_text)(sample)
    reasons[left_out.UNREADABLE] += damaged
    reasons[left_out.ERASED] += len(sample) - len(sample_out) - damaged
    pairs_out = PairsOut(sample_out, available, reasons.total(), left_out.by_reason(reasons.total(), reasons))
    pairs_out.task_id = ids.encode("task", task)  # type: ignore[attr-defined] # names what is erased with its texts
    return pairs_out


def forget(completions: Collection[UUID], **_: Any) -> None:
    """Delete the stored responses of all affected tasks, on the signals `texts_erased` and `score_deleted`."""
    tasks = set(Completion.objects.filter(pk__in=completions).order_by().values_list("task_id", flat=True))
    idempotency.forget([*tasks, idempotency.in_flight(ROUTE)], about=ROUTE)


def _rewarded(principal: Principal, task: UUID, model_id: str | None, sources: Collection[str]) -> Any:
    """Return the rewarded completions of a task from which the caller may make pairs."""
    tasks = Task.objects.visible_to(principal) | policy.scope(Task.objects.all(), principal, RESOURCE, "create")
    if not tasks.filter(pk=task).exists():
        raise NotFound.field("/taskId", "task")
    rewarded = Completion.objects.for_readers_of_rewards(sources)
    completions = policy.scope(rewarded, principal, RESOURCE, "create").filter(task_id=task, reward__task_id=task)
    return completions if model_id is None else completions.filter(model_id=model_id)


def _completions(sample: Sequence[Pair]) -> list[bytes]:
    """Return the completions of pairs, each once."""
    return list(dict.fromkeys(pk for pair in sample for pk in (pair.chosen, pair.rejected)))


def _check_size(sample: Sequence[Pair]) -> None:
    sizes, nothing = prompts.sizes(_completions(sample), size=CONVERSATION_SIZE), TextSize()
    stored_bytes = sum(sizes.get(pk, nothing).text_bytes for pair in sample for pk in (pair.chosen, pair.rejected))
    if stored_bytes > MAX_BYTES:
        detail = (
            f"the text of these {len(sample)} pairs is {stored_bytes >> 20} MiB, the limit is {MAX_BYTES >> 20} MiB: "
            "request fewer pairs, or an export with layout=preferences."
        )
        raise Invalid.field("/sampleSize", "out_of_range", detail)


def _with_texts(sample: Sequence[Pair]) -> tuple[list[Pair], DecryptedText, int]:
    """Return the pairs that still have text, the text by completion, and the number of damaged pairs.

    The pairs that are missing and not damaged were erased since they were drawn.
    """
    texts = ranges.texts_of(_completions(sample), ("prompt", "response", "messages"))
    release()
    readable_pairs = [pair for pair in sample if pair.chosen in texts and pair.rejected in texts]
    damaged = sum(texts.has_damaged(pair.chosen, pair.rejected) for pair in sample) if texts.unreadable else 0
    return readable_pairs, texts, damaged


def _as_text(sample: Sequence[Pair]) -> tuple[list[PairOut], int]:
    """Return the pairs with their text, and the number of damaged pairs. Text includes nothing of the task version."""
    readable_pairs, texts, damaged = _with_texts(sample)
    pairs_out = [
        PairOut(
            _decoded(texts[pair.chosen][0]),
            _decoded(texts[pair.chosen][1]),
            _decoded(texts[pair.rejected][1]),
            pair.chosen_score,
            pair.rejected_score,
        )
        for pair in readable_pairs
    ]
    return pairs_out, damaged


def _as_messages(sample: Sequence[Pair]) -> tuple[list[PairOut], int]:
    """Return the pairs as conversations, with the system prompt in effect first, and the number of damaged pairs."""
    readable_pairs, texts, damaged = _with_texts(sample)
    conversations = Conversations()
    facts = prompts.sizes([pair.chosen for pair in readable_pairs])
    pair_versions = [facts[pair.chosen].version for pair in readable_pairs]
    complete_pairs = ranges.with_readable_version(readable_pairs, pair_versions, conversations.system_prompts)
    versions = [facts[pair.chosen].version for pair in complete_pairs]
    conversations.learn(versions)
    chosen = [texts[pair.chosen] for pair in complete_pairs]
    prompt_turns = conversations.as_turns(versions, [row[0] or b"" for row in chosen], [row[2] for row in chosen])
    pairs_out = [
        PairOut(
            [MessageOut(_decoded(role), _decoded(content)) for role, content in turns],
            [MessageOut("assistant", _decoded(texts[pair.chosen][1]))],
            [MessageOut("assistant", _decoded(texts[pair.rejected][1]))],
            pair.chosen_score,
            pair.rejected_score,
        )
        for pair, turns in zip(complete_pairs, prompt_turns, strict=True)
    ]
    return pairs_out, damaged + len(readable_pairs) - len(complete_pairs)


def _decoded(text: bytes | None) -> str:
    return (text or b"").decode()
