"""What kafka-python's admin client can do and this one cannot: each says so in a sentence, by an error with a name."""

from __future__ import annotations

from typing import Any, NoReturn

from moldau.errors import ErrorCode
from moldau.errors.named import for_code


class Refusals:
    def create_acls(self, acls: Any) -> NoReturn:
        _refuse("ACLs")

    def delete_acls(self, acl_filters: Any) -> NoReturn:
        _refuse("ACLs")

    def describe_acls(self, acl_filter: Any) -> NoReturn:
        _refuse("ACLs")

    def alter_user_scram_credentials(self, alterations: Any) -> NoReturn:
        _refuse("SCRAM credentials")

    def describe_user_scram_credentials(self, users: Any = None) -> NoReturn:
        _refuse("SCRAM credentials")


def _refuse(what: str) -> NoReturn:
    raise for_code(ErrorCode.UNSUPPORTED_VERSION)(f"This admin client does not manage {what} yet.")
