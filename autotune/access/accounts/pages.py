"""The account page with its forms, and the login of the admin site."""

from urllib.parse import urlencode

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from autotune.access import authentication
from autotune.access.accounts import agents, requirement, sessions
from autotune.access.accounts.signals import organization_switched, sessions_ended
from autotune.access.models import Membership, User
from autotune.core import ids
from autotune.core.pages import zones


@login_required
@never_cache
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    """Show a person's name, organizations, ways to log in, and sessions."""
    user = _person(request)
    principal = authentication.of_session(request)
    current_digest = sessions.current(request)
    page = {
        "memberships": [
            {
                "name": m.organization.name,
                "role": m.role.name,
                "id": ids.encode("org", m.organization_id),
                "current": principal is not None and principal.organization.pk == m.organization_id,
            }
            for m in _memberships(user)
        ],
        "zones": zones.by_region(),
        "zone_is_known": user.time_zone in zones.names(),
        "second_factor": requirement.has_second_factor(user),
        "second_factor_required": requirement.must_have_second_factor(user),
        "codes_left": _codes_left(user),
        "sign_on": settings.AUTOTUNE_OIDC_NAME if _signs_on(user) else "",
        "sessions": [
            {
                "id": session.public_id,
                "current": bytes(session.key_digest) == current_digest,
                "ip": session.address or "",
                "since": session.created_at,
                "agent": agents.named(session.user_agent),
            }
            for session in sorted(sessions.of(user), key=lambda row: bytes(row.key_digest) != current_digest)
        ],
    }
    with timezone.override(zones.of(user.time_zone)):
        return render(request, "access/accounts/account.html", page)


@login_required
@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Switch to another of the person's organizations."""
    user = _person(request)
    try:
        organization_id = ids.decode("org", request.POST.get("organization", ""))
    except ValueError:
        raise Http404 from None
    membership = _memberships(user).filter(organization_id=organization_id).first()
    if membership is None:
        raise Http404
    request.session["organization"] = ids.encode("org", membership.organization_id)
    organization_switched.send(sender=User, request=request, user=user, organization=membership.organization)
    messages.success(request, f"You now act in {membership.organization}.")
    return redirect("home" if request.POST.get("to") == "home" else "account")


@login_required
@require_POST
def rename(request: HttpRequest) -> HttpResponse:
    """Change the person's own name."""
    user = _person(request)
    name = " ".join(request.POST.get("name", "").replace("\0", "").split())[:200]
    User.objects.filter(pk=user.pk).update(name=name)
    messages.success(request, "Your name is changed.")
    return redirect("account")


@login_required
@require_POST
def choose_time_zone(request: HttpRequest) -> HttpResponse:
    """Choose the time zone in which pages show the person times."""
    user, zone = _person(request), request.POST.get("time_zone", "")
    if zone not in zones.names():
        messages.error(request, "Choose a time zone from the list. Your time zone is unchanged.")
        return redirect("account")
    User.objects.filter(pk=user.pk).update(time_zone=zone)
    messages.success(request, f"Pages now show you times in {zone}.")
    return redirect("account")


@login_required
@require_POST
def end_sessions(request: HttpRequest) -> HttpResponse:
    """End one of the person's sessions, or all but this one."""
    user = _person(request)
    chosen = sessions.others(request, user)
    which = request.POST.get("session", "")
    if which != "others":
        try:
            chosen = chosen.filter(pk=ids.decode("session", which))
        except ValueError:
            raise Http404 from None
    ended, _ = chosen.delete()
    sessions_ended.send(sender=User, request=request, user=user, count=ended)
    messages.success(request, "The session is ended." if ended == 1 else f"{ended} sessions are ended.")
    return redirect("account")


@never_cache
def admin_login(request: HttpRequest) -> HttpResponseBase:
    """Redirect to the common login, since the admin site's own form would not require a second factor."""
    if isinstance(request.user, User) and not request.user.is_staff:
        return render(request, "access/accounts/no_admin.html", status=403)
    next_url = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
    return redirect(f"{reverse('account_login')}?{urlencode({REDIRECT_FIELD_NAME: next_url})}")


def _person(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise Http404
    return request.user


def _memberships(user: User) -> QuerySet[Membership]:
    return (
        Membership.objects.filter(user=user, organization__suspended=False)
        .select_related("organization", "role")
        .order_by("organization__name")
    )


def _codes_left(user: User) -> int:
    row = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    return 10 - int(row.data.get("used_mask", 0)).bit_count() if row else 0


def _signs_on(user: User) -> bool:
    return SocialAccount.objects.filter(user=user, provider=settings.AUTOTUNE_OIDC_ID).exists()
