"""Describe who may see which part of a completion, by the policy, its task and its graders."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from autotune.access import querysets
from autotune.access.models import Role
from autotune.access.principal import Principal, granted
from autotune.core.pages.formats import brief
from graders import responses
from graders.models import Grader
from scores.results.names import NamedObject, ObjectNames
from tasks.models import Completion, PanelMember, Task


@dataclass(frozen=True, slots=True)
class AudiencePart:
    """A part of a completion, and sentences about who sees it. They contain text of graders' owners: escape them."""

    what: str
    who: list[str]


def audience(
    principal: Principal, completion: Completion, task: Task, members: Sequence[PanelMember], names: ObjectNames
) -> list[AudiencePart]:
    """Return who sees which part of a completion, for a reader who sees all of it and its task; two queries.

    A reader who sees all of a grader learns what it redacts; one who may read custom roles sees their names.
    """
    roles = _roles(principal, completion)
    graders = {
        grader.pk: grader
        for grader in Grader.objects.filter(pk__in=[member.grader_id for member in members]).only(
            "pk", "organization_id", "created_by_id", "redact_reasoning", "redact_dimensions"
        )
    }
    own_graders = [pk for pk, grader in graders.items() if grader.organization_id == completion.organization_id]
    other_graders = [pk for pk in graders if pk not in own_graders]
    texts = AudiencePart("Prompt, response, metadata", [f"Here: {_listed(_roles_with(roles, 'completions'))}."])
    texts.who.extend(_shared(task, bool(other_graders)))
    if other_graders:
        texts.who.append(
            "The panel has graders of other organizations: their servers get the prompt, the response, the metadata "
            "and the task's system prompt to judge the response."
        )
    numbers = AudiencePart(
        "Reward and scores",
        [
            f"Here: {_listed(_roles_with(roles, 'scores'))}.",
            "The creator of a grader sees its scores, but neither the reward nor the scores of other graders.",
        ],
    )
    reasoning = [f"Here: {_listed(_roles_with(roles, 'reasoning'))}, as far as the grader allows."]
    reasoning += [_redaction(graders[pk], _name(names.grader(pk)), principal) for pk in own_graders]
    reasoning += [f"{_name(names.grader(pk))}: its owners decide what others see." for pk in other_graders]
    operators = AudiencePart(
        "All of it", ["Administrators of the organization that runs this server, except for what a grader redacts."]
    )
    return [texts, numbers, AudiencePart("Reasoning and dimensions", reasoning), operators]


def _shared(task: Task, foreign: bool) -> list[str]:
    """What the task's `shareText` means for the texts."""
    if not task.share_text:
        return ["Not the owners of its graders: the task does not share its text."]
    far = "; administrators of their organizations too" if foreign else ""
    return [f"Creators of its graders, since the task shares its text{far}. Metadata and external id are not shared."]


def _roles(principal: Principal, completion: Completion) -> list[Role]:
    """The built-in ones, and those of the completion's organization that the reader may read."""
    built_in = Q(organization=None)
    visible_roles = querysets.roles().visible_to(principal).filter(organization_id=completion.organization_id)
    return list(Role.objects.filter(built_in | Q(pk__in=visible_roles.values("pk"))))


def _redaction(grader: Grader, name: str, principal: Principal) -> str:
    """What a grader of this organization redacts for others; only a reader who sees all of the grader learns it."""
    if not responses.sees_all_of(grader, principal):
        return f"{name} (yours): its owners decide what others see."
    match grader.redact_reasoning, grader.redact_dimensions:
        case True, True:
            return f"{name} (yours): both are redacted for others."
        case True, False:
            return f"{name} (yours): reasoning is redacted for others."
        case False, True:
            return f"{name} (yours): dimensions are redacted for others."
    return f"{name} (yours): redacts nothing."


def _name(grader: NamedObject) -> str:
    """A name within a sentence, isolated so that its direction controls do not affect the rest."""
    return f"\u2068{brief(grader.name or grader.public_id, 60)}\u2069"


def _roles_with(roles: Iterable[Role], resource: str) -> list[str]:
    """Names of the roles that read it throughout the organization."""
    return sorted(
        {
            role.label
            for role in roles
            if granted(role.permissions).get((resource, "read")) in ("organization", "all")
            and not (role.organization_id is None and role.name == "admin")
        }
    )


def _listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    if not names:
        return "nobody"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
