"""The authorizer against a naive one that goes through all rules for every question."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest

from moldau.security.acl import (
    EVERYBODY,
    OPERATIONS,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    allowed_bits,
    bit,
)
from moldau.security.authorizer import Authorizer, Reason, Rules, normal_host, super_users_of

NAMES = ["a", "ab", "abc", "abd", "b", "ba", "*", "a*", ""]
HOSTS = ["10.0.0.1", "10.0.0.2", "::1"]
WHO = ["User:jan", "User:eva", "Group:jan"]
IMPLIES = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER, Operation.DESCRIBE),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS),
}


def naive(rules: Iterable[Acl], who: str, host: str, operation: Operation, kind: int, name: str) -> bool | None:
    """None if no rule is about the resource."""
    about = [rule for rule in rules if rule.applies_to(kind, name)]
    if not about:
        return None
    for_them = [rule for rule in about if rule.principal in (who, EVERYBODY) and rule.host in (host, WILDCARD)]
    for rule in for_them:
        if rule.permission == Permission.DENY and rule.operation in (operation, Operation.ALL):
            return False
    enough = (*IMPLIES.get(operation, (operation,)), Operation.ALL)
    return any(rule.permission == Permission.ALLOW and rule.operation in enough for rule in for_them)


def naive_somewhere(rules: Sequence[Acl], who: str, host: str, operation: Operation, kind: int) -> bool:
    """Whether some name is allowed: of the names in the rules, and those that begin like them."""
    mine = [
        rule
        for rule in rules
        if rule.resource_type == kind
        and rule.principal in (who, EVERYBODY)
        and rule.host in (host, WILDCARD)
        and rule.operation in (operation, Operation.ALL)
    ]
    denied = [rule for rule in mine if rule.permission == Permission.DENY]
    if any(rule.resource_name == WILDCARD and rule.pattern_type == PatternType.LITERAL for rule in denied):
        return False
    for rule in mine:
        if rule.permission == Permission.ALLOW:
            name = rule.resource_name
            literal = rule.pattern_type == PatternType.LITERAL
            if literal and name == WILDCARD:
                return True
            if not any(
                name.startswith(no.resource_name) and no.resource_name
                if no.pattern_type == PatternType.PREFIXED
                else literal and no.resource_name == name
                for no in denied
            ):
                return True
    return False


def some_rule(chance: random.Random) -> Acl:
    kind = chance.choice([ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.GROUP])
    return Acl(
        kind,
        chance.choice([name for name in NAMES if name]),
        chance.choice([PatternType.LITERAL, PatternType.PREFIXED]),
        chance.choice([*WHO, EVERYBODY]),
        chance.choice([*HOSTS, WILDCARD, WILDCARD]),
        chance.choice([*OPERATIONS[kind], Operation.ALL]),
        chance.choice([Permission.ALLOW, Permission.ALLOW, Permission.DENY]),
    )


def questions(chance: random.Random, count: int) -> Iterable[tuple[str, str, Operation, ResourceType, str]]:
    for _ in range(count):
        kind = chance.choice([ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER])
        name = chance.choice(NAMES) + chance.choice(["", "", "c", "*"])
        yield chance.choice(WHO), chance.choice(HOSTS), chance.choice(OPERATIONS[kind]), kind, name


@pytest.mark.parametrize("seed", range(60))
def test_it_decides_as_one_who_goes_through_all_rules(seed: int) -> None:
    chance = random.Random(seed)
    rules: list[Acl] = []
    made = Rules()
    for _ in range(8):
        before, kept = made, list(rules)
        made = made.copy()
        for _ in range(chance.randrange(12)):
            if rules and chance.random() < 0.4:
                gone = chance.choice(rules)
                rules.remove(gone)
                made.remove(gone)
            else:
                rules.append(some_rule(chance))
                made.add(rules[-1])
        everyone = chance.random() < 0.3
        # What was decided by before has not changed under it.
        for acls, indexed in ((kept, before), (rules, made)):
            authorizer = Authorizer(indexed, frozenset({"User:eva"}), allow_everyone=everyone)
            for who, host, operation, kind, name in questions(chance, 60):
                found = naive(acls, who, host, operation, kind, name)
                expected = who == "User:eva" or (everyone if found is None else found)
                asked = (who, host, operation, kind, name)
                assert authorizer.allows(*asked) is expected, (asked, acls)
                decision = authorizer.explain(*asked)
                assert decision.allowed is expected
                if who == "User:eva":
                    assert decision.reason is Reason.SUPER_USER
                elif decision.rule is None:
                    assert decision.reason in (Reason.DEFAULT_ALLOW, Reason.DEFAULT_DENY)
                else:
                    assert decision.rule in acls
                    assert decision.rule.applies_to(kind, name)
                    assert (decision.rule.permission == Permission.ALLOW) is expected
                may = authorizer.operations(who, host, kind, name, OPERATIONS[kind])
                assert may == [each for each in OPERATIONS[kind] if authorizer.allows(who, host, each, kind, name)]
                somewhere = authorizer.allows(who, host, operation, kind, "hardcode") or naive_somewhere(
                    acls, who, host, operation, kind
                )
                assert authorizer.allows_somewhere(who, host, operation, kind) is somewhere, (asked, acls)


def test_denying_wins_and_implies_nothing() -> None:
    allow = Acl(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:jan", "*", Operation.READ, Permission.ALLOW)
    deny = allow._replace(permission=Permission.DENY)
    both = Authorizer(Rules([allow._replace(operation=Operation.ALL), deny]))
    assert not both.allows("User:jan", "h", Operation.READ, ResourceType.TOPIC, "t")
    assert both.allows("User:jan", "h", Operation.DESCRIBE, ResourceType.TOPIC, "t")
    assert both.explain("User:jan", "h", Operation.READ, ResourceType.TOPIC, "t") == (False, Reason.RULE, deny)
    alone = Authorizer(Rules([deny]), allow_everyone=True)
    # There is a rule about it: then nothing goes without one that allows it.
    assert not alone.allows("User:eva", "h", Operation.WRITE, ResourceType.TOPIC, "t")
    assert alone.allows("User:eva", "h", Operation.WRITE, ResourceType.TOPIC, "other")


def test_addresses_are_the_same_however_they_are_written() -> None:
    rule = Acl(
        ResourceType.TOPIC, "t", PatternType.LITERAL, "User:jan", "0:0:0:0:0:0:0:1", Operation.READ, Permission.ALLOW
    )
    authorizer = Authorizer(Rules([rule]))
    assert authorizer.allows("User:jan", normal_host("::1"), Operation.READ, ResourceType.TOPIC, "t")
    assert normal_host("::ffff:10.0.0.7") == "10.0.0.7"
    assert normal_host("not:an:address") == "not:an:address"


def test_what_nobody_here_knows_says_nothing() -> None:
    known = Acl(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:jan", "*", Operation.READ, Permission.ALLOW)
    strange = [
        known._replace(permission=9),
        known._replace(operation=77),
        known._replace(operation=-3),
        known._replace(principal="jan"),
    ]
    authorizer = Authorizer(Rules(strange))
    assert not authorizer.allows("User:jan", "h", Operation.READ, ResourceType.TOPIC, "t")
    assert authorizer.operations("User:jan", "h", ResourceType.TOPIC, "t", OPERATIONS[ResourceType.TOPIC]) == []


def test_super_users_are_read_as_kafka_writes_them() -> None:
    assert super_users_of("User:a; User:CN=b,O=c;;") == {"User:a", "User:CN=b,O=c"}
    assert super_users_of("") == frozenset()
    for wrong in ("alice", "User:", ":a"):
        with pytest.raises(ValueError, match="is no principal"):
            super_users_of(wrong)


def test_lengths_of_prefixes_that_are_gone_are_not_looked_for() -> None:
    """Each is one look for every name that is asked about."""
    rules = Rules()
    acls = [
        Acl(
            ResourceType.TOPIC,
            "p" * length,
            PatternType.PREFIXED,
            f"User:{who}",
            "*",
            Operation.READ,
            Permission.ALLOW,
        )
        for length in (1, 2, 2, 3)
        for who in ("jan", "eva")
    ]
    for acl in dict.fromkeys(acls):
        rules.add(acl)
    section = rules._sections[ResourceType.TOPIC]
    assert section.lengths == (1, 2, 3)
    for acl in dict.fromkeys(acls):
        if acl.resource_name != "pp" or acl.principal == "User:jan":
            rules.remove(acl)
    assert (section.lengths, section.prefixes) == ((2,), {2: 1})


def test_what_it_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moldau.security.authorizer._MOST_REMEMBERED", 10)
    authorizer = Authorizer(Rules())
    for number in range(100):
        authorizer.allows(f"User:{number}", "h", Operation.READ, ResourceType.TOPIC, "t")
        authorizer.allows_somewhere(f"User:{number}", "h", Operation.READ, ResourceType.TOPIC)
    assert len(authorizer._remembered) <= 10
    assert len(authorizer._anywhere) <= 10
    assert allowed_bits(Operation.READ) & bit(Operation.READ)
