"""The page of an invitation's link, where a person creates an account or joins with an existing one."""

from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from django.contrib import messages
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from autotune.access.accounts import joining
from autotune.access.accounts.forms import JoinForm
from autotune.access.models import Membership, User
from autotune.core import ids


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponseBase:
    pending_membership = joining.find(token)
    if pending_membership is None:
        return _gone(request)
    if isinstance(request.user, User):
        return _join_as_user(request, request.user, token, pending_membership)
    if User.objects.filter(email=pending_membership.email).exists():
        return _page(request, pending_membership, how="log_in")
    return _join_as_new_user(request, token, pending_membership)


def _join_as_user(request: HttpRequest, user: User, token: str, pending_membership: Membership) -> HttpResponseBase:
    if user.email != pending_membership.email:
        return _page(request, pending_membership, how="other_person", status=403 if request.method == "POST" else 200)
    if request.method != "POST":
        return _page(request, pending_membership, how="join")
    membership = joining.take(request, token, user)
    if membership is None:
        return _gone(request)
    return _welcome(request, membership)


def _join_as_new_user(request: HttpRequest, token: str, pending_membership: Membership) -> HttpResponseBase:
    form = JoinForm(request.POST if request.method == "POST" else None, email=pending_membership.email)
    if request.method != "POST" or not form.is_valid():
        return _page(request, pending_membership, how="make_account", form=form)
    cleaned_data = form.cleaned_data
    try:
        user = joining.arrive(request, token, name=cleaned_data["name"], password=cleaned_data["password"])
    except (joining.AccountExists, IntegrityError):
        return redirect("invitation", token)
    if user is None:
        return _gone(request)
    record_authentication(request, user, method="password", email=user.email)
    perform_login(request, user, email_verification="none")
    return _welcome(request, pending_membership)


def _welcome(request: HttpRequest, membership: Membership) -> HttpResponse:
    request.session["organization"] = ids.encode("org", membership.organization_id)
    messages.success(request, f"Welcome to {membership.organization}.")
    return redirect("home")


def _gone(request: HttpRequest) -> HttpResponse:
    return render(request, "access/accounts/invitation_gone.html", status=404)


def _page(
    request: HttpRequest, pending_membership: Membership, *, how: str, form: JoinForm | None = None, status: int = 200
) -> HttpResponse:
    page = {"invitation": pending_membership, "how": how, "form": form}
    return render(request, "access/accounts/invitation.html", page, status=status)
