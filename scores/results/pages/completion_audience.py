"""Who may see what of a completion, in plain words: what the policy, the task and its graders say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from autotune.access import querysets
from autotune.access.models import Role
from autotune.access.principal import Principal, granted
from autotune.core.templatetags.ui import brief
from graders import responses
from graders.models import Grader
from scores.results.names import Named, Names
from tasks.models import Completion, PanelMember, Task

OWNERS = "shared_completions"


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing, and who sees it, in sentences. Texts of the graders' owners stand in them: escape them."""

    what: str
    who: list[str]


def audience(
    principal: Principal, completion: Completion, task: Task, members: Sequence[PanelMember], names: Names
) -> list[Seen]:
    """Who sees which part of a completion, for a reader who sees all of it and its task; two queries.

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
    texts = Seen("Prompt, response, metadata", [f"Here: {_listed(_roles_with(roles, 'completions'))}."])
    texts.who.extend(_shared(task, bool(other_graders)))
    if other_graders:
        texts.who.append(
            "The panel has graders of other organizations: to judge the response, their servers get the prompt, the "
            "response, the metadata and the task's system prompt."
        )
    numbers = Seen(
        "Reward and scores",
        [
            f"Here: {_listed(_roles_with(roles, 'scores'))}.",
            "Who made a grader sees the scores that it gave, and neither the reward nor the others' scores.",
        ],
    )
    reasoning = [f"Here: {_listed(_roles_with(roles, 'reasoning'))}, as far as the grader lets them."]
    reasoning += [_redaction(graders[pk], _name(names.grader(pk)), principal) for pk in own_graders]
    reasoning += [f"{_name(names.grader(pk))}: its owners decide what goes out." for pk in other_graders]
    operators = Seen(
        "All of it", ["Administrators of the organization that runs this server, but for what a grader redacts."]
    )
    return [texts, numbers, Seen("Reasoning and dimensions", reasoning), operators]


def _shared(task: Task, foreign: bool) -> list[str]:
    """What the task's `shareText` means for the texts."""
    if not task.share_text:
        return ["Not the owners of its graders: the task does not share its texts."]
    far = "; administrators of their organizations too" if foreign else ""
    return [
        f"Who made one of its graders, for the task shares its texts{far}. Metadata and external id are not shared."
    ]


def _roles(principal: Principal, completion: Completion) -> list[Role]:
    """The built-in ones, and those of the completion's organization that the reader may read."""
    built_in = Q(organization=None)
    visible_roles = querysets.roles().visible_to(principal).filter(organization_id=completion.organization_id)
    return list(Role.objects.filter(built_in | Q(pk__in=visible_roles.values("pk"))))


def _redaction(grader: Grader, name: str, principal: Principal) -> str:
    """What a grader of this organization redacts for others; only a reader who sees all of the grader learns it."""
    if not responses.sees_all_of(grader, principal):
        return f"{name} (yours): its owners decide what goes out."
    match grader.redact_reasoning, grader.redact_dimensions:
        case True, True:
            return f"{name} (yours): nobody elsewhere, both are redacted."
        case True, False:
            return f"{name} (yours): reasoning is redacted for others."
        case False, True:
            return f"{name} (yours): dimensions are redacted for others."
    return f"{name} (yours): redacts nothing."


def _name(grader: Named) -> str:
    """A name within a sentence: no direction control of it leaves it."""
    return f"\u2068{brief(grader.name or grader.public_id, 60)}\u2069"


def _roles_with(roles: Iterable[Role], resource: str) -> list[str]:
    """Names of the roles that read it throughout the organization."""
    return sorted(
        {
            role.name.replace("_", " ")
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
