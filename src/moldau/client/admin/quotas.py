"""Quotas of users, client ids and addresses (KIP-546): what there is, and changes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moldau.client.conversation import CONTROLLER, Ask, Conversation, retrying
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages import alter_client_quotas as altering
from moldau.protocol.messages import describe_client_quotas as describing

_EXACT, _NAMELESS, _ANY = 0, 1, 2

# Stands for a name that a filter leaves open. A name that is None is that of everybody without a quota of his own.
ANYBODY: Final = ""


class Quota(NamedTuple):
    """The values of one entity, which is its parts by type: user, client-id or ip."""

    entity: Mapping[str, str | None]
    values: Mapping[str, float]


class QuotaChange(NamedTuple):
    """What is to be set for one entity, and with None what is to be removed."""

    entity: Mapping[str, str | None]
    values: Mapping[str, float | None]


def describe_client_quotas(
    parts: Mapping[str, str | None] | None = None, *, strict: bool = False
) -> Conversation[list[Quota]]:
    """Those whose parts are these (`ANYBODY` for one of any name); `strict` leaves out entities with further parts."""
    components = [
        describing.ComponentData(
            entity_type=kind,
            match_type=_ANY if name == ANYBODY else _NAMELESS if name is None else _EXACT,
            match=name or None,
        )
        for kind, name in (parts or {}).items()
    ]
    request = describing.DescribeClientQuotasRequest(components=components, strict=strict)

    def attempt() -> Conversation[list[Quota]]:
        response: describing.DescribeClientQuotasResponse = yield Ask(request)
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code, response.error_message or code.text)
        return [
            Quota(
                {part.entity_type: part.entity_name for part in entry.entity},
                {value.key: value.value for value in entry.values},
            )
            for entry in response.entries or ()
        ]

    return retrying(attempt)


def alter_client_quotas(
    changes: Sequence[QuotaChange], *, validate_only: bool = False
) -> Conversation[list[KafkaError | None]]:
    """One outcome for each, in order."""
    request = altering.AlterClientQuotasRequest(
        entries=[
            altering.RequestEntryData(
                entity=[
                    altering.RequestEntityData(entity_type=kind, entity_name=name)
                    for kind, name in change.entity.items()
                ],
                ops=[
                    altering.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in change.values.items()
                ],
            )
            for change in changes
        ],
        validate_only=validate_only,
    )

    def attempt() -> Conversation[list[KafkaError | None]]:
        response: altering.AlterClientQuotasResponse = yield Ask(request, to=CONTROLLER)
        return [_problem(row.error_code, row.error_message) for row in response.entries]

    return retrying(attempt)


def _problem(number: int, message: str | None) -> KafkaError | None:
    code = error_code(number)
    return None if code is ErrorCode.NONE else KafkaError(code, message or code.text)
