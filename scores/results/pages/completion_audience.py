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
    """For a reader of the whole completion and its task; two queries.

    What a grader redacts is told to who sees the whole grader, and the names of custom roles to who may read them.
    """
    roles = _roles(principal, completion)
    graders = {
        one.pk: one
        for one in Grader.objects.filter(pk__in=[member.grader_id for member in members]).only(
            "pk", "organization_id", "created_by_id", "redact_reasoning", "redact_dimensions"
        )
    }
    ours = [pk for pk, one in graders.items() if one.organization_id == completion.organization_id]
    others = [pk for pk in graders if pk not in ours]
    texts = Seen("Prompt, response, metadata", [f"Here: {_listed(_roles_with(roles, 'completions'))}."])
    texts.who.extend(_shared(task, bool(others)))
    if others:
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
    told = [f"Here: {_listed(_roles_with(roles, 'reasoning'))}, as far as the grader lets them."]
    told += [_kept(graders[pk], _name(names.grader(pk)), principal) for pk in ours]
    told += [f"{_name(names.grader(pk))}: its owners decide what goes out." for pk in others]
    operators = Seen(
        "All of it", ["Administrators of the organization that runs this server, but for what a grader redacts."]
    )
    return [texts, numbers, Seen("Reasoning and dimensions", told), operators]


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
    seen = querysets.roles().visible_to(principal).filter(organization_id=completion.organization_id)
    return list(Role.objects.filter(built_in | Q(pk__in=seen.values("pk"))))


def _kept(grader: Grader, name: str, principal: Principal) -> str:
    """What a grader of this organization redacts for others, for who sees all of the grader."""
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


def _name(one: Named) -> str:
    """A name within a sentence: no direction control of it leaves it."""
    return f"\u2068{brief(one.name or one.public_id, 60)}\u2069"


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
