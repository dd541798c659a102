"""Read scores: the shape of a score, one score, and the list."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType, field

from autotune.access.principal import Principal
from autotune.access.views import find
from autotune.core import clock, ids
from autotune.core.api import pagination
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import PageQuery, Pagination, SortOrder
from autotune.core.crypto.encryption import Undecryptable
from autotune.core.crypto.fields import encrypted
from autotune.core.errors import Gone
from graders import versions
from graders.scales import UNIT, Scale
from scores.counters import narrowing
from scores.models import Reward, Score
from scores.results import filters
from scores.results.filters import ScoreFilter
from scores.results.privacy import ViewerSight
from tasks.states import LISTED_SOURCES

COLUMNS = (
    "id", "organization_id", "completion_id", "grader_id", "grader_version_id", "value", "confidence", "raw_value",
    "calibrated_value", "calibrated_map_id", "reasoning", "dimensions", "reviewed_by_id", "reused_from", "created_at",
)  # fmt: skip
ALWAYS_BEARABLE = 100  # this many scores with the longest reasoning (64 Ki characters) fit on a page
ORDER = SortOrder("scores", {"createdAt": "id", "value": "value"})  # ids are UUIDv7: their order is that of creation


class ScaleOut(ApiStruct):
    """The scale of the grader version, to which `rawValue` refers."""

    min: float
    max: float


class CalibratedOut(ApiStruct):
    """The value after a score map, and the map's id."""

    value: float
    map_id: str


class DimensionOut(ApiStruct):
    name: str
    value: float
    weight: float | None


class ScoreOut(ApiStruct):
    """A Score. `graderVersion` is a `graderv_…` id; it and `graderId` and `id` are null for the reward of a panel.

    `rawValue` is on `scale`; a panel's is the value from 0 to 1. `calibrated` is null without a score map.
    `reusedFrom` is the id of the score that this one copies: graders judged an equal answer of another model.
    `unreadable` names the members that are null because they cannot be decrypted; it is absent otherwise.
    """

    id: str | None
    completion_id: str
    grader_id: str | None
    grader_version: str | None
    value: float
    confidence: float
    raw_value: float
    scale: ScaleOut
    calibrated: CalibratedOut | None
    reasoning: str | None
    dimensions: list[DimensionOut] | None
    reviewed_by: str | None
    reused_from: str | None
    receipt: str | None
    created_at: str
    unreadable: list[str] | UnsetType = UNSET


class ScoreAnswer(ApiStruct):
    score: ScoreOut


class ScoreList(ApiStruct):
    scores: list[ScoreOut]
    pagination: Pagination


class ScoreListQuery(ScoreFilter):
    """Filters and page of `GET /scores`; sort by createdAt (default -createdAt) or value.

    The members of PageQuery are repeated here: a Struct cannot have two bases with members.
    """

    default_sources: ClassVar[tuple[str, ...]] = LISTED_SOURCES
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    offset: Annotated[int, Meta(ge=0)] = 0
    cursor: str | None = None
    sort: str | None = None
    page_number: Annotated[int, Meta(ge=1)] | None = field(default=None, name="page")

    def page(self) -> PageQuery:
        return PageQuery(
            limit=self.limit, offset=self.offset, cursor=self.cursor, sort=self.sort, page_number=self.page_number
        )  # fmt: skip


UNIT_SCALE = ScaleOut(0.0, 1.0)
_REASONING = encrypted(Score, "reasoning")


def listed(query: ScoreListQuery, principal: Principal) -> ScoreList:
    """Return one page of the scores that match the filters."""
    selection = filters.check(query, principal)
    score_rows = narrowing.of_model(selection, filters.scores(selection)).values_list(*COLUMNS, named=True)
    texts = ("reasoning",) if query.limit > ALWAYS_BEARABLE else ()
    rows, page = pagination.page(score_rows, query.page(), ORDER, owner=principal.organization.pk, texts=texts)
    return ScoreList(shapes(rows, ViewerSight.of(principal)), page)


def read_score(score_id: UUID, principal: Principal) -> ScoreOut:
    """Return a score as the caller may see it.

    raises NotFound, also for a score that the caller may not see; Gone `score_deleted`
    """
    score = find(Score.objects.visible_to(principal).defer("details"), score_id, "score")
    if score.deleted_at is not None:
        raise Gone("The score was deleted.", code="score_deleted")
    return shape(score, ViewerSight.of(principal))


def scales(rows: Iterable[Any]) -> Mapping[UUID, Scale]:
    """Return the scales of the grader versions of scores, by version."""
    return versions.scales_of({row.grader_version_id for row in rows})


def shapes(rows: Sequence[Any], sight: ViewerSight, by_version: Mapping[UUID, Scale] | None = None) -> list[ScoreOut]:
    """Return scores (models, or rows of COLUMNS) as this reader sees them; a repeated id is encoded once.

    by_version  the scales of their grader versions, if they are loaded already
    """
    sight.judges.meet_those_of(rows)
    by_version = scales(rows) if by_version is None else by_version
    public_ids: dict[UUID, str] = {}

    def public_id(kind: str, pk: UUID) -> str:
        if pk not in public_ids:
            public_ids[pk] = ids.encode(kind, pk)
        return public_ids[pk]

    def score_out(row: Any) -> ScoreOut:
        reasoning, unreadable = _text(row) if sight.reasoning(row) else (None, UNSET)
        return ScoreOut(
            ids.encode("score", row.id),
            ids.encode("comp", row.completion_id),
            public_id("grader", row.grader_id),
            public_id("graderv", row.grader_version_id),
            row.value,
            row.confidence,
            row.raw_value,
            scale_out(by_version[row.grader_version_id]),
            _calibrated(row),
            reasoning,
            row.dimensions if sight.dimensions(row) else None,
            public_id("user", row.reviewed_by_id) if row.reviewed_by_id else None,
            ids.encode("score", row.reused_from) if row.reused_from else None,
            None,
            clock.wire(row.created_at),
            unreadable,
        )

    return [score_out(row) for row in rows]


def shape(score: Score, sight: ViewerSight, by_version: Mapping[UUID, Scale] | None = None) -> ScoreOut:
    """Return one score as this reader sees it; `by_version` as in `shapes`."""
    return shapes([score], sight, by_version)[0]


def reward_shape(reward: Reward) -> ScoreOut | None:
    """Return the reward of a panel in a score's shape, without id and grader; None for a reward without a value."""
    if reward.value is None or reward.confidence is None:
        return None
    return ScoreOut(
        None,
        ids.encode("comp", reward.completion_id),
        None,
        None,
        reward.value,
        reward.confidence,
        reward.value,
        UNIT_SCALE,
        None,
        None,
        None,
        None,
        None,
        None,
        clock.wire(reward.scored_at),
    )


def scale_out(scale: Scale) -> ScaleOut:
    """Return a scale's two ends."""
    return UNIT_SCALE if scale == UNIT else ScaleOut(scale.minimum, scale.maximum)


def _calibrated(row: Any) -> CalibratedOut | None:
    if row.calibrated_value is None or row.calibrated_map_id is None:
        return None
    return CalibratedOut(row.calibrated_value, ids.encode("smap", row.calibrated_map_id))


def _text(row: Any) -> tuple[str | None, list[str] | UnsetType]:
    """The decrypted reasoning (a model decrypts on access, a bare row holds ciphertext), and the damaged members."""
    try:
        stored = row.reasoning
        return _REASONING.decrypt(row.id, stored) if isinstance(stored, bytes) else stored, UNSET
    except Undecryptable:
        return None, ["reasoning"]
