"""The part of `KafkaAdminClient` for who may do what, and by which password."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moldau.client.admin import acls as acl_admin
from moldau.client.admin import users as user_admin
from moldau.client.admin.acls import ACL, ACLFilter
from moldau.client.admin.answer import kind_of
from moldau.client.admin.users import UserScramCredentialDeletion, UserScramCredentialUpsertion
from moldau.client.session import Session
from moldau.errors import KafkaError
from moldau.errors.named import IllegalArgumentError, NamedError


class SecurityAdmin:
    def __init__(self, session: Session) -> None:
        self._session = session

    def describe_acls(self, acl_filter: ACLFilter) -> tuple[list[ACL], type[NamedError]]:
        """The entries that fit, and the class of the outcome (`NoError`; anything else is raised)."""
        if not isinstance(acl_filter, ACLFilter):
            raise IllegalArgumentError("acl_filter must be an ACLFilter.")
        return self._session.ask(acl_admin.describe_acls(acl_filter)), kind_of(None)

    def create_acls(self, acls: Sequence[ACL]) -> dict[str, list[Any]]:
        """Which were added, and the classes of the errors of those that were not."""
        if not all(isinstance(each, ACL) for each in acls):
            raise IllegalArgumentError("acls must be ACL objects, without anything left open.")
        outcomes = self._session.ask(acl_admin.create_acls(acls))
        return {
            "succeeded": [entry for entry, error in zip(acls, outcomes, strict=True) if error is None],
            "failed": [kind_of(error) for error in outcomes if error is not None],
        }

    def delete_acls(self, acl_filters: Sequence[ACLFilter]) -> list[tuple[ACLFilter, list[ACL], type[NamedError]]]:
        """For each filter the entries that fitted it, and the class of its outcome."""
        if not all(isinstance(each, ACLFilter) for each in acl_filters):
            raise IllegalArgumentError("acl_filters must be ACLFilter objects.")
        outcomes = self._session.ask(acl_admin.delete_acls(acl_filters))
        return [
            (wanted, [entry for entry, _ in matching], kind_of(error))
            for wanted, (matching, error) in zip(acl_filters, outcomes, strict=True)
        ]

    def alter_user_scram_credentials(
        self, alterations: Sequence[UserScramCredentialDeletion | UserScramCredentialUpsertion]
    ) -> dict[str, str | None]:
        """Sets and deletes passwords; what was wrong, or None, by user."""
        deletions = [each for each in alterations if isinstance(each, UserScramCredentialDeletion)]
        upsertions = [each for each in alterations if isinstance(each, UserScramCredentialUpsertion)]
        if len(deletions) + len(upsertions) < len(alterations):
            raise IllegalArgumentError(
                "alterations must be UserScramCredentialDeletion or UserScramCredentialUpsertion objects."
            )
        outcomes = self._session.ask(user_admin.alter_credentials(deletions, upsertions))
        return {user: None if error is None else str(error) for user, error in outcomes.items()}

    def describe_user_scram_credentials(self, users: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """Which mechanisms users have passwords for: all users, or those named."""
        found = self._session.ask(user_admin.describe_credentials(users))
        return {
            user: {"error": str(infos), "credential_infos": []}
            if isinstance(infos, KafkaError)
            else {
                "error": None,
                "credential_infos": [{"mechanism": each, "iterations": iterations} for each, iterations in infos],
            }
            for user, infos in found.items()
        }
