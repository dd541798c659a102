"""Admin actions. Each calls the same capability as the API, and reports the result.

If an action cannot be undone, a page asks for confirmation first.
"""

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from autotune.core.errors import AutotuneError
from autotune.core.pages.formats import brief

Action = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]
SHOWN: Final = 20
CALLED_AT_ONCE: Final = 10  # calls to other people's servers, one after the other, while the person waits
AT_ONCE: Final = 1_000
CONFIRMED: Final = "confirmed"  # member of the form that answers the question


def each(
    model_admin: admin.ModelAdmin,
    request: HttpRequest,
    rows: QuerySet[Any],
    act: Callable[[Any], object],
    done: str,
    *,
    most: int = AT_ONCE,
) -> None:
    """Call `act` on each row and report: “3 switched on, 1 refused: …”. The rows' history records what was done."""
    selected_rows = list(rows[: most + 1])
    if len(selected_rows) > most:
        model_admin.message_user(request, f"Nothing was done. Select at most {most} rows.", messages.ERROR)
        return
    changed_rows: list[Model] = []
    refusals: dict[str, list[str]] = defaultdict(list)
    for row in selected_rows:
        try:
            act(row)
        except AutotuneError as exc:
            refusals[exc.detail].append(brief(row, 40))
        else:
            changed_rows.append(row)
    if changed_rows:
        _log(request, changed_rows, f"{done[:1].upper()}{done[1:]}.")
    report(model_admin, request, len(changed_rows), done, refusals)


def report(
    model_admin: admin.ModelAdmin, request: HttpRequest, moved: int, done: str, refused: dict[str, list[str]]
) -> None:
    """Report how many rows were changed, and how many were refused and why."""
    parts = [f"{moved} {done}", *(_refusal(why, names) for why, names in refused.items())]
    level = messages.SUCCESS if not refused else messages.WARNING if moved else messages.ERROR
    model_admin.message_user(request, "; ".join(parts), level)


def confirmed(question: str, *, warning: str, button: str) -> Callable[[Action], Action]:
    """Decorate an action, below `admin.action`, so that a page first names the rows and the effect, and asks."""

    def around(action: Action) -> Action:
        @functools.wraps(action)
        def ask(model_admin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
            if request.POST.get(CONFIRMED):
                return action(model_admin, request, queryset)
            rows = list(queryset[: SHOWN + 1])
            context = {
                **model_admin.admin_site.each_context(request),
                "title": question,
                "warning": warning,
                "button": button,
                "opts": model_admin.model._meta,
                "rows": rows[:SHOWN],
                "more": len(rows) > SHOWN,
                "action": request.POST.get("action", ""),
                "selected": request.POST.getlist(ACTION_CHECKBOX_NAME),
                "across": request.POST.get("select_across", "0"),
                "checkbox": ACTION_CHECKBOX_NAME,
                "media": model_admin.media,
            }
            request.current_app = model_admin.admin_site.name
            return TemplateResponse(request, "core/admin/confirm_action.html", context)

        # the audit log uses this to distinguish the question from the action
        ask.answer = CONFIRMED  # type: ignore[attr-defined]
        return ask

    return around


def pks(rows: QuerySet[Any], most: int) -> list[Any]:
    """Return the primary keys of at most `most` selected rows."""
    return list(rows.values_list("pk", flat=True)[:most])


def _log(request: HttpRequest, rows: list[Model], message: str) -> None:
    """Add the message to the rows' histories in bulk: the audit log reads a single entry as a form that was saved."""
    kind = ContentType.objects.get_for_model(rows[0], for_concrete_model=False)
    LogEntry.objects.bulk_create(
        LogEntry(
            user_id=str(request.user.pk), content_type=kind, object_id=row.pk, object_repr=str(row)[:200],
            action_flag=CHANGE, change_message=message,
        )
        for row in rows
    )  # fmt: skip


def _refusal(why: str, names: list[str]) -> str:
    name_list = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    return f"{len(names)} refused: {why} ({name_list})"
