"""Users who log in by SCRAM: whom the cluster knows, new passwords, and users who are no longer let in."""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from moldau.client.admin.quotas import describe_client_quotas
from moldau.client.admin.users import (
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
    alter_credentials,
    describe_credentials,
)
from moldau.console.listing import listing
from moldau.console.pages.acls import known_rules
from moldau.console.pages.topic_changes import whole_number
from moldau.console.visits import Refused, Visit
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.security.quota import USER

_CHANGE_SECONDS: Final = 15.0
_MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_ITERATIONS: Final = (4096, 16384)


class Row(NamedTuple):
    """None where the cluster does not say."""

    user: str
    mechanisms: dict[str, int]
    rules: int | None
    quotas: int | None


def users(visit: Visit) -> Response:
    found, unknown = [], ""
    try:
        found = _rows(visit)
    except MoldauError as error:
        unknown = str(error)
    return visit.page(
        "users.html",
        "Users",
        users=listing(
            visit,
            found,
            lambda row: row.user,
            {"name": lambda row: row.user.lower(), "rules": lambda row: row.rules, "quotas": lambda row: row.quotas},
            "name",
        ),
        unknown=unknown,
    )


def change(visit: Visit) -> Response:
    """A new user, or a new password of one: what is asked for, what it would change, and the change. The password is
    asked for last, so that it is on no page."""
    given = visit.fields if visit.posted else {"user": visit.query("user")}
    known, problem = False, ""
    before: dict[str, int] = {}
    changes: dict[str, int] = {}
    if visit.posted:
        try:
            user, wanted = _wanted(visit)
            before = _mechanisms(visit, user)
            known, changes = bool(before), wanted
            if visit.form("step") == "apply":
                _set_password(visit, user, before, wanted)
                return visit.done("/users", f"{user} has a new password." if known else f"{user} may log in.")
        except MoldauError as error:
            problem = str(error)
    return visit.page(
        "user_edit.html",
        "New password" if given.get("user") else "New user",
        409 if problem else 200,
        given=given,
        chosen=visit.forms("mechanism") if visit.posted else _MECHANISMS,
        mechanisms=_MECHANISMS,
        iterations=given.get("iterations") or str(_ITERATIONS[0]),
        changes=[(name, before.get(name), count) for name, count in changes.items()],
        known=known,
        written=_written(before),
        problem=problem,
    )


def remove(visit: Visit) -> Response:
    name = visit.query("user")
    known = _mechanisms(visit, name)
    if not known:
        raise Refused(f"There is no user {name}.", 404)
    if visit.posted:
        visit.confirmed(name)
        chosen = [each for each in visit.forms("mechanism") if each in known]
        if not chosen:
            raise Refused("Nothing was done: no mechanism was chosen.")
        _alter(visit, [UserScramCredentialDeletion(name, each) for each in chosen], [])
        said = f"{name} is no longer let in" if len(chosen) == len(known) else f"{name} may not log in any more"
        return visit.done("/users", f"{said} by {' and '.join(chosen)}.")
    row = next((each for each in _rows(visit) if each.user == name), Row(name, known, None, None))
    return visit.page("user_remove.html", f"Remove {name}", row=row)


def _rows(visit: Visit) -> list[Row]:
    found = visit.links.remembered(("users",), 2.0, lambda: visit.links.ask(describe_credentials(None)))
    rules, limits = _rules_by_principal(visit), _quotas_by_user(visit)
    return [
        Row(
            user,
            {each.name.replace("_", "-"): iterations for each, iterations in infos},
            None if rules is None else rules.get(f"User:{user}", 0),
            None if limits is None else limits.get(user, 0),
        )
        for user, infos in found.items()
        if not isinstance(infos, KafkaError)
    ]


def _rules_by_principal(visit: Visit) -> dict[str, int] | None:
    try:
        found = known_rules(visit)
    except MoldauError:
        return None
    counts: dict[str, int] = {}
    for rule in found:
        counts[rule.principal] = counts.get(rule.principal, 0) + 1
    return counts


def _quotas_by_user(visit: Visit) -> dict[str, int] | None:
    try:
        found = visit.links.remembered(("quotas",), 2.0, lambda: visit.links.ask(describe_client_quotas()))
    except MoldauError:
        return None
    counts: dict[str, int] = {}
    for quota in found:
        name = quota.entity.get(USER)
        if name is not None:
            counts[name] = counts.get(name, 0) + len(quota.values)
    return counts


def _mechanisms(visit: Visit, user: str) -> dict[str, int]:
    """Iterations by mechanism; empty for nobody."""
    if not user:
        raise Refused("Say which user.")
    infos = visit.links.ask(describe_credentials([user]))[user]
    if isinstance(infos, KafkaError):
        if infos.code is ErrorCode.RESOURCE_NOT_FOUND:
            return {}
        raise infos
    return {each.name.replace("_", "-"): iterations for each, iterations in infos}


def _wanted(visit: Visit) -> tuple[str, dict[str, int]]:
    user = visit.form("user").strip()
    chosen = [each for each in _MECHANISMS if each in visit.forms("mechanism")]
    least, most = _ITERATIONS
    iterations = whole_number(visit.form("iterations"), "The number of iterations", least)
    if not user:
        raise Refused("A user has a name.")
    if not chosen:
        raise Refused("Choose how the user may log in: one mechanism at least.")
    if not least <= iterations <= most:
        raise Refused(f"The iterations are {least:,} to {most:,}.")
    return user, dict.fromkeys(chosen, iterations)


def _set_password(visit: Visit, user: str, before: dict[str, int], wanted: dict[str, int]) -> None:
    if visit.form("was") != _written(before):
        raise Refused(f"{user} was changed by somebody else meanwhile; look at it again.", 409)
    password = visit.form("password")
    if not password:
        raise Refused("The new password is empty.")
    if password != visit.form("again"):
        raise Refused("The two passwords differ.")
    upsertions = [
        UserScramCredentialUpsertion(user, name, password, iterations=count) for name, count in wanted.items()
    ]
    _alter(visit, [], upsertions)


def _written(mechanisms: dict[str, int]) -> str:
    return ",".join(f"{name}={count}" for name, count in sorted(mechanisms.items()))


def _alter(
    visit: Visit, deletions: list[UserScramCredentialDeletion], upsertions: list[UserScramCredentialUpsertion]
) -> None:
    outcomes = visit.links.ask(alter_credentials(deletions, upsertions), _CHANGE_SECONDS)
    for error in outcomes.values():
        if error is not None:
            raise error
