"""Access rules added, changed and removed: first what that would come to, then exactly that."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from starlette.responses import Response

from moldau.client.admin.access_rules import add_rules, exactly, remove_rules
from moldau.console.pages.acls import DOABLE, KINDS, RuleRow, known_rules, principal_of, read_rules
from moldau.console.visits import Refused, Visit
from moldau.errors import MoldauError
from moldau.quantities import counted
from moldau.security.acl import (
    CLUSTER_NAME,
    OPERATIONS,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    check_acl,
    word_of,
)
from moldau.security.authorizer import Authorizer, Rules
from moldau.security.needs import Need, needs_of_consumers, needs_of_producers, rules_for

_CHANGE_SECONDS: Final = 15.0
_MOST: Final = 1000


class Planned(NamedTuple):
    row: RuleRow
    # Where it is there already, nothing changes.
    known: bool


class Leaving(NamedTuple):
    row: RuleRow
    # What holds for those it is about once it is gone.
    then: str


def create(visit: Visit) -> Response:
    """New rules; with `rule`, instead of that one."""
    replaced = read_rules(f"[{visit.query('rule')}]") if visit.query("rule") else []
    given = visit.fields if visit.posted else _as_form(replaced)
    chosen = visit.forms("operation") if visit.posted else given.get("operation", "").split(",")
    plan: list[Planned] = []
    warnings: list[str] = []
    problem = ""
    if visit.posted:
        try:
            known = known_rules(visit)
            if visit.form("step") == "apply":
                return _carry_out(visit, read_rules(visit.form("rules")), replaced, known)
            plan = [Planned(RuleRow(rule), rule in known) for rule in _rules(visit)]
            warnings = _warnings([each.row.rule for each in plan], known)
            if all(each.known for each in plan) and not replaced:
                raise Refused("There are exactly these rules already.")
        except MoldauError as error:
            problem = str(error)
    return visit.page(
        "acl_new.html",
        "Change rule" if replaced else "New rule",
        409 if problem else 200,
        given=given,
        chosen=chosen,
        kinds=KINDS,
        doable={kind: [word_of(Operation, each) for each in OPERATIONS[number]] for kind, number in KINDS.items()},
        operations=DOABLE,
        plan=[] if problem else plan,
        warnings=warnings,
        replaced=[RuleRow(rule) for rule in replaced],
        written=json.dumps([each.row.rule for each in plan]),
        problem=problem,
    )


def remove(visit: Visit) -> Response:
    """One rule, or all that the list showed."""
    known = known_rules(visit)
    if visit.posted:
        wanted = read_rules(visit.form("rules"))
        gone = visit.links.ask(remove_rules(exactly(wanted)), _CHANGE_SECONDS)
        missing = len(wanted) - len(gone)
        said = f"{counted(len(gone), 'rule')} removed" + (f"; {missing} had gone before." if missing else ".")
        return visit.done("/acls", said)
    if visit.query("rule"):
        chosen = read_rules(f"[{visit.query('rule')}]")
    else:
        word, kind = visit.query("q").strip()[:200].lower(), visit.query("kind")
        chosen = [
            rule
            for rule in known
            if word in str(rule).lower() and kind in ("", word_of(ResourceType, rule.resource_type))
        ]
    chosen = [rule for rule in chosen if rule in known][:_MOST]
    if not chosen:
        raise Refused("There is no such rule any more.", 404)
    left = Authorizer(Rules(rule for rule in known if rule not in set(chosen)))
    return visit.page(
        "acl_remove.html",
        "Remove rules" if len(chosen) > 1 else "Remove a rule",
        leaving=[Leaving(RuleRow(rule), _afterwards(left, rule)) for rule in chosen],
        written=json.dumps(chosen),
    )


def _carry_out(visit: Visit, rules: list[Acl], replaced: list[Acl], known: list[Acl]) -> Response:
    if missing := [rule for rule in replaced if rule not in known]:
        raise Refused(f"The rule was removed by somebody else meanwhile: {missing[0]}.", 409)
    # First what is new: between the two nobody is to lose what he keeps.
    outcomes = visit.links.ask(add_rules(rules), _CHANGE_SECONDS)
    for error in outcomes:
        if error is not None:
            raise error
    if old := [rule for rule in replaced if rule not in rules]:
        visit.links.ask(remove_rules(exactly(old)), _CHANGE_SECONDS)
        return visit.done("/acls", "The rule was changed.")
    return visit.done("/acls", f"{counted(sum(rule not in known for rule in rules), 'rule')} added.")


def _rules(visit: Visit) -> list[Acl]:
    """What the form says."""
    who = [principal_of(each) for each in visit.form("principal").split(",") if each.strip()]
    if not who:
        raise Refused("Say for whom: a user, or * for everybody.")
    hosts = [each.strip() for each in visit.form("host").split(",") if each.strip()] or [WILDCARD]
    prefixed = visit.form("pattern") == "prefixed"
    permission = Permission.DENY if visit.form("permission") == "deny" else Permission.ALLOW
    needs = _needs(visit, permission)
    if prefixed and any(name == WILDCARD for _, name, _ in needs):
        raise Refused("Names that begin with something: * is all of them, without that.")
    rules = rules_for(needs, who, hosts, prefixed=prefixed, permission=permission)
    for rule in rules:
        check_acl(rule)
    return rules


def _needs(visit: Visit, permission: Permission) -> list[Need]:
    kind = KINDS.get(visit.form("kind", "topic"))
    if kind is None:
        raise Refused("There are no rules about this.")
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else visit.form("name").strip()
    if not name:
        raise Refused("Say about which resource; * is all of them.")
    what = visit.form("what", "operations")
    if what == "operations":
        chosen = [DOABLE[each] for each in visit.forms("operation") if each in DOABLE]
        if not chosen:
            raise Refused("Choose what may be done: one operation at least.")
        for each in chosen:
            if each is not Operation.ALL and each not in OPERATIONS[kind]:
                raise Refused(f"Nobody does {word_of(Operation, each)} to a {word_of(ResourceType, kind)}.")
        return [(kind, name, each) for each in chosen]
    if kind is not ResourceType.TOPIC or permission is Permission.DENY:
        raise Refused("What producers and consumers need is allowed on topics.")
    if what == "producer":
        id = visit.form("transactional_id").strip()
        return needs_of_producers([name], [id] if id else [])
    group = visit.form("group").strip()
    if not group:
        raise Refused("Say in which group it consumes; * is all of them.")
    return needs_of_consumers([name], [group])


def _warnings(rules: list[Acl], known: list[Acl]) -> list[str]:
    """What is easily overlooked about these rules."""
    said = []
    if any(rule.permission == Permission.DENY for rule in rules):
        said.append("A rule that denies wins over all rules that allow, whoever they are for.")
    ruled = Rules(known)
    if any(not any(ruled.about(rule.resource_type, rule.resource_name)) for rule in rules):
        said.append(
            "These are the first rules about it: from now on whoever has no rule is kept out, "
            "also where allow.everyone.if.no.acl.found is set."
        )
    if any(rule.principal == "User:*" and rule.permission == Permission.ALLOW for rule in rules):
        said.append("It allows something to everybody.")
    return said


def _afterwards(left: Authorizer, rule: Acl) -> str:
    if rule.principal.endswith(":" + WILDCARD) or rule.operation == Operation.ALL:
        return ""
    decision = left.explain(rule.principal, rule.host, rule.operation, rule.resource_type, rule.resource_name)
    allowed = rule.permission == Permission.ALLOW
    if decision.rule is None:
        return "no rule allows it then" if allowed else "no rule denies it then, and none allows it"
    verb = "still allowed" if decision.allowed else "denied"
    return f"{verb if allowed or not decision.allowed else 'allowed then'} by: {decision.rule}"


def _as_form(replaced: list[Acl]) -> dict[str, str]:
    if not replaced:
        return {}
    rule = replaced[0]
    return {
        "principal": rule.principal,
        "host": rule.host,
        "permission": "deny" if rule.permission == Permission.DENY else "allow",
        "kind": word_of(ResourceType, rule.resource_type),
        "name": rule.resource_name,
        "pattern": "prefixed" if rule.pattern_type == PatternType.PREFIXED else "literal",
        "what": "operations",
        "operation": word_of(Operation, rule.operation),
    }
