"""Rules that make user names of distinguished names; the expectations are what Kafka's SslPrincipalMapper makes."""

from __future__ import annotations

import pytest

from moldau.security.principal_mapping import MappingError, PrincipalMapping

DUKE = "CN=Duke, OU=ServiceUsers, O=Org, C=US"
KAFKAS_OWN = (
    r"RULE:^CN=(.*?), *OU=ServiceUsers.*$/$1/L, "
    r"RULE:^CN=(.*?), *OU=AdminUsers, *O=(.*), *C=([A-Z]+)$/$1@$2/U, "
    r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,"
    "DEFAULT"
)


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        ("DEFAULT", DUKE, DUKE),
        ("", "CN=x", None),
        (KAFKAS_OWN, DUKE, "duke"),
        (KAFKAS_OWN, "CN=Duke, OU=AdminUsers, O=Org, C=US", "DUKE@ORG"),
        (KAFKAS_OWN, "cn=Some.One,OU=x", "some.one"),
        (KAFKAS_OWN, "OU=nobody", "OU=nobody"),
        ("RULE:^CN=(.*)$/$1/", "OU=nobody", None),
        # The pattern fits the whole, and each of its matches is replaced.
        ("RULE:CN=(.*?)/<$1>/", "CN=abc", "<>abc"),
        ("RULE:.*/x/", "abc", "xx"),
        # A slash in a part has a backslash before it, which means nothing in the replacement.
        (r"RULE:^CN=(.*)\/(.*)$/$2\/$1/", "CN=a/b", "b/a"),
        (r"RULE:^CN=(.*)$/\$1\$/", "CN=a", "$1$"),
        # Fewer groups than the number says.
        ("RULE:^CN=(.)(.)$/$12-$3-$21/", "CN=ab", "a2-$3-b1"),
        ("RULE:^CN=(.)$/$0$01/", "CN=a", "CN=aa"),
        ("RULE:^CN=(a)?(.)$/$1$2/", "CN=b", "b"),
        (" DEFAULT , ", "CN=x", "CN=x"),
        ("RULE:^CN=(.*),O=x$/$1/L,RULE:^CN=(.*)$/$1/U", "CN=ž", "Ž"),
    ],
)
def test_the_first_rule_that_fits_counts(rules: str, name: str, expected: str | None) -> None:
    mapping = PrincipalMapping(rules)
    if expected is None:
        with pytest.raises(MappingError, match="no rule"):
            mapping.name(name)
    else:
        assert mapping.name(name) == expected


@pytest.mark.parametrize(
    "rules",
    [
        "DEFAULTS",
        "RULE:^CN=(.*)$/$1",
        "RULE:^CN=(.*)$",
        "RULE:^CN=(.*)$/$1/X",
        "RULE:^CN=(.*)$/$1/LU",
        "RULE:^CN=(.*)$/$1/L DEFAULT",
        "RULE:^CN=(.*$/$1/L",
        "RULE:^(?!CN=x).*$/$0/",
        "RULE:^CN=(.*)$/${name}/",
        "RULE:^CN=(.*)$/a$/",
        "nonsense",
    ],
)
def test_what_is_no_rule_is_refused(rules: str) -> None:
    with pytest.raises(MappingError, match="cannot contain"):
        PrincipalMapping(rules)


def test_a_name_that_is_far_too_long_is_nobodys() -> None:
    with pytest.raises(MappingError, match="no rule"):
        PrincipalMapping("DEFAULT").name("CN=" + "x" * 20_000)


def test_no_name_holds_up_the_node() -> None:
    """An engine that goes back and forth needs longer for this than there is time."""
    assert PrincipalMapping("RULE:^(CN=(a+)+)+$/x/,DEFAULT").name("CN=" + "a" * 10_000 + "!").endswith("!")
