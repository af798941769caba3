"""Who asks: the type and name that access rules, quotas and logs know a client by."""

from __future__ import annotations

from typing import Final, NamedTuple

USER: Final = "User"


class Principal(NamedTuple):
    kind: str
    name: str
    # Whether it logged in with a delegation token; such a login may not ask for further tokens.
    by_token: bool = False

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


# Who came in through a listener that asks nobody.
ANONYMOUS: Final = Principal(USER, "ANONYMOUS")

# What a node asks itself. Known by being this object: nobody who connects can be called so.
THIS_NODE: Final = Principal("Node", "itself")


def user(name: str) -> Principal:
    return Principal(USER, name)
