"""AlterClientQuotas (key 49): sets and removes quotas of entities, each by itself. Version 1 is flexible."""

from __future__ import annotations

from typing import Final

from moldau.controller.client_quotas import QuotaChange
from moldau.deferred import Deferred, mapped
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    RequestEntryData,
    ResponseEntityData,
    ResponseEntryData,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts

# Parts and quotas of an entity that are looked at, where there are three kinds of the ones and five of the others.
_MOST_OF_ONE: Final = 100


def alter_client_quotas(
    context: RequestContext, request: AlterClientQuotasRequest
) -> Deferred[AlterClientQuotasResponse]:
    require_cluster(context, Operation.ALTER_CONFIGS)
    if any(len(entry.entity) > _MOST_OF_ONE or len(entry.ops) > _MOST_OF_ONE for entry in request.entries):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"An entity of more than {_MOST_OF_ONE} parts is not taken.")
    changes = [
        QuotaChange(
            [(part.entity_type, part.entity_name) for part in entry.entity],
            {op.key: None if op.remove else op.value for op in entry.ops},
        )
        for entry in request.entries
    ]
    altered = controller_of(context).alter_client_quotas(changes, validate_only=request.validate_only)

    def answer(errors: list[KafkaError | None]) -> AlterClientQuotasResponse:
        return AlterClientQuotasResponse(
            entries=[_row(entry, error) for entry, error in zip(request.entries, errors, strict=True)]
        )

    return mapped(altered, answer)


def _row(entry: RequestEntryData, error: KafkaError | None) -> ResponseEntryData:
    return ResponseEntryData(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=[
            ResponseEntityData(entity_type=part.entity_type, entity_name=part.entity_name) for part in entry.entity
        ],
    )


def error_response(request: AlterClientQuotasRequest, version: int, error: KafkaError) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(entries=[_row(entry, error) for entry in request.entries])


ALTER_CLIENT_QUOTAS: Final = Api(
    ApiKey.ALTER_CLIENT_QUOTAS,
    AlterClientQuotasRequest,
    alter_client_quotas,
    error_response,
    parts=(Parts(("entries",), ("entries",), size=500),),
    most_elements=50_000,
)
