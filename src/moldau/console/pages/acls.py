"""Access rules: all there are, and whether somebody may do something, by which of them."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from moldau.client.admin.access_rules import find_rules
from moldau.client.admin.configs import ConfigResource, describe_configs
from moldau.client.admin.configs import ResourceType as Configured
from moldau.console.listing import listing
from moldau.console.visits import Refused, Visit
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.security.acl import (
    CLUSTER_NAME,
    OPERATIONS,
    WILDCARD,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    check_acl,
    word_of,
)
from moldau.security.authorizer import Authorizer, Decision, Reason, Rules, normal_host, super_users_of

NO_AUTHORIZER: Final = "The cluster has no authorizer (authorizer.class.name): there are no rules, and all may do all."
# By the words that people read and forms carry.
KINDS: Final = {word_of(ResourceType, each): ResourceType(each) for each in OPERATIONS}
DOABLE: Final = {word_of(Operation, each): each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY)}


class NoRules(Refused):
    """Nobody keeps rules here."""


class RuleRow(NamedTuple):
    rule: Acl

    @property
    def allows(self) -> bool:
        return self.rule.permission == Permission.ALLOW

    @property
    def operation(self) -> str:
        return "everything" if self.rule.operation == Operation.ALL else word_of(Operation, self.rule.operation)

    @property
    def kind(self) -> str:
        return word_of(ResourceType, self.rule.resource_type).replace("-", " ")

    @property
    def prefixed(self) -> bool:
        return self.rule.pattern_type == PatternType.PREFIXED

    @property
    def any_name(self) -> bool:
        return not self.prefixed and self.rule.resource_name == WILDCARD

    @property
    def written(self) -> str:
        return json.dumps(self.rule)


class Question(NamedTuple):
    principal: str
    host: str
    operation: Operation
    type: ResourceType
    name: str

    @property
    def what(self) -> str:
        if self.type is ResourceType.CLUSTER:
            return "the cluster"
        return f"{word_of(ResourceType, self.type).replace('-', ' ')} {self.name}"

    @property
    def verb(self) -> str:
        return word_of(Operation, self.operation)


def acls(visit: Visit) -> Response:
    rules, nothing, unknown = _seen(visit)
    kind = visit.query("kind")
    rows = [row for row in map(RuleRow, rules) if kind in ("", word_of(ResourceType, row.rule.resource_type))]
    return visit.page(
        "acls.html",
        "Access rules",
        tab="rules",
        rules=listing(
            visit,
            rows,
            lambda row: str(row.rule),
            {
                "who": lambda row: row.rule.principal.lower(),
                "what": lambda row: (row.kind, row.rule.resource_name.lower()),
                "operation": lambda row: row.operation,
            },
            "who",
        ),
        any=bool(rules),
        kind=kind,
        kinds=KINDS,
        nothing=nothing,
        unknown=unknown,
    )


def may(visit: Visit) -> Response:
    """The question and its answer."""
    seen_super, seen_everyone = _broker_says(visit)
    super_users = visit.query("super") if "super" in visit.request.query_params else seen_super or ""
    everyone = visit.query("everyone") == "1" if visit.query("principal") else bool(seen_everyone)
    question, decision, problem = None, None, ""
    others: list[tuple[str, bool]] = []
    applying: list[RuleRow] = []
    if visit.query("principal"):
        try:
            question = _question(visit)
            rules = visit.links.ask(find_rules([AclFilter(question.type, question.name, PatternType.MATCH)]))
            authorizer = Authorizer(Rules(rules), super_users_of(super_users), allow_everyone=everyone)
            decision, others = _decided(authorizer, question)
            applying = [RuleRow(rule) for rule in rules if rule.principal in (question.principal, "User:*")]
        except ValueError as error:
            problem = f"Super users: {error}."
        except MoldauError as error:
            problem = _sentence(error)
    return visit.page(
        "acl_may.html",
        "Who may do what",
        409 if problem else 200,
        tab="may",
        kinds=KINDS,
        operations=[word for word in DOABLE if word != "all"],
        given={name: visit.query(name) for name in ("principal", "operation", "kind", "name", "host")},
        super_users=super_users,
        super_known=seen_super is not None,
        everyone=everyone,
        question=question,
        decision=decision,
        why="" if decision is None else _why(decision),
        deciding=None if decision is None else decision.rule,
        others=others,
        applying=applying,
        problem=problem,
    )


def _question(visit: Visit) -> Question:
    principal = principal_of(visit.query("principal"))
    if principal.endswith(":" + WILDCARD):
        raise Refused("A question is about one user, not about all of them.")
    kind, verb = KINDS.get(visit.query("kind", "topic")), DOABLE.get(visit.query("operation", "read"))
    if kind is None or verb is None or verb is Operation.ALL:
        raise Refused("A question is about one operation on one resource.")
    if verb not in OPERATIONS[kind]:
        known = ", ".join(word_of(Operation, each) for each in OPERATIONS[kind])
        raise Refused(f"Nobody does {word_of(Operation, verb)} to a {word_of(ResourceType, kind)}; there are: {known}.")
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else visit.query("name").strip()
    if not name:
        raise Refused("Say about which resource: its name is missing.")
    return Question(principal, normal_host(visit.query("host", "").strip() or "127.0.0.1"), verb, kind, name)


def _decided(authorizer: Authorizer, question: Question) -> tuple[Decision, list[tuple[str, bool]]]:
    """The answer, and those to all that can be done to the resource."""
    principal, host, operation, type, name = question
    others = [
        (word_of(Operation, each), authorizer.explain(principal, host, each, type, name).allowed)
        for each in OPERATIONS[type]
    ]
    return authorizer.explain(principal, host, operation, type, name), others


def _why(decision: Decision) -> str:
    return {
        Reason.RULE: "This rule decides:",
        Reason.SUPER_USER: "A super user may do everything.",
        Reason.DEFAULT_ALLOW: "No rule is about it, and allow.everyone.if.no.acl.found is set.",
        Reason.DEFAULT_DENY: "No rule allows it.",
    }[decision.reason]


def _broker_says(visit: Visit) -> tuple[str | None, bool | None]:
    """super.users and allow.everyone.if.no.acl.found, as far as a broker tells; None for what it keeps to itself."""
    alive = next((each.broker.id for each in visit.snapshot.brokers if not each.broker.fenced), None)
    if alive is None:
        return None, None
    try:
        found = visit.links.remembered(
            ("authorizer-settings",),
            30.0,
            lambda: visit.links.ask(describe_configs(ConfigResource(Configured.BROKER, str(alive)))),
        )
    except MoldauError:
        return None, None
    known = {each.name: each.value for each in found if not each.sensitive}
    everyone = known.get("allow.everyone.if.no.acl.found")
    return known.get("super.users"), None if everyone is None else everyone == "true"


# ------------------------------------------------------------------------------------------------ for other pages, too


def known_rules(visit: Visit) -> list[Acl]:
    """All of them, as of a moment ago. NoRules where nobody keeps any."""
    try:
        return visit.links.remembered(("acls",), 2.0, lambda: visit.links.ask(find_rules([AclFilter()])))
    except KafkaError as error:
        if error.code is ErrorCode.SECURITY_DISABLED:
            raise NoRules(NO_AUTHORIZER) from None
        raise


def _seen(visit: Visit) -> tuple[list[Acl], str, str]:
    """The rules; or why there cannot be any; or why they cannot be seen."""
    try:
        return known_rules(visit), "", ""
    except NoRules as error:
        return [], str(error), ""
    except MoldauError as error:
        return [], "", str(error)


def _sentence(error: MoldauError) -> str:
    if isinstance(error, KafkaError) and error.code is ErrorCode.SECURITY_DISABLED:
        return NO_AUTHORIZER
    return str(error)


def principal_of(text: str) -> str:
    """As rules write it: a name alone is a user's."""
    text = text.strip()
    whole = text if ":" in text else f"User:{text}"
    if not all(whole.partition(":")):
        raise Refused(f"{text[:60]!r} is no principal, which is its type, a colon and its name, as User:alice.")
    return whole


def read_rules(text: str) -> list[Acl]:
    """What a page before showed; Refused for anything else."""
    try:
        given = json.loads(text)
        if not isinstance(given, list) or not given:
            raise ValueError
        return [_read_rule(each) for each in given]
    except (ValueError, TypeError, RecursionError):
        raise Refused("These are no rules; begin again.") from None
    except KafkaError as error:
        raise Refused(str(error)) from None


def _read_rule(given: Any) -> Acl:
    rule = Acl(*given)
    numbers = (rule.resource_type, rule.pattern_type, rule.operation, rule.permission)
    if not all(isinstance(each, str) for each in (rule.resource_name, rule.principal, rule.host)):
        raise ValueError
    if not all(type(each) is int for each in numbers):
        raise ValueError
    check_acl(rule)
    return rule
