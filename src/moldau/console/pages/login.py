"""Coming in and going out, where the console is not for this machine alone."""

from __future__ import annotations

from starlette.responses import Response

from moldau.console.gate import TooManyTries
from moldau.console.visits import Refused, Visit


def login(visit: Visit) -> Response:
    following = visit.form("next") or visit.query("next", "/")
    if not following.startswith("/") or following.startswith(("//", "/\\")):
        following = "/"
    if not visit.posted:
        if visit.console.sessions.is_inside(visit.session):
            return visit.go(following)
        return visit.page("login.html", "Log in", next=following, problem="")
    try:
        session = visit.console.sessions.enter(visit.form("password"), visit.client)
    except TooManyTries:
        raise Refused("Too many wrong passwords; try again in a minute.", 429) from None
    if session is None:
        return visit.page("login.html", "Log in", 403, next=following, problem="That is not the password.")
    response = visit.go(following)
    secure = visit.request.url.scheme == "https"
    response.set_cookie(visit.console.cookie, session, httponly=True, samesite="lax", secure=secure)
    return response


def logout(visit: Visit) -> Response:
    if visit.posted:
        visit.console.sessions.leave(visit.session)
    return visit.go("/login")
