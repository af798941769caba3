"""DescribeClientQuotas (key 48): the quotas of the entities that fit a filter. Version 1 is flexible."""

from __future__ import annotations

from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from moldau.security.acl import Operation
from moldau.security.quota import Match, check_filter
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work

_EXACT, _NAMELESS, _ANY = 0, 1, 2
# Entities that are looked at before others have their turn.
_IN_A_ROW: Final = 200


def describe_client_quotas(
    context: RequestContext, request: DescribeClientQuotasRequest
) -> Work[DescribeClientQuotasResponse]:
    require_cluster(context, Operation.DESCRIBE_CONFIGS)
    matches = [_match(part.entity_type, part.match_type, part.match) for part in request.components]
    check_filter(matches)
    entries: list[EntryData] = []
    for number, (entity, values) in enumerate(context.services.metadata.image.client_quotas.items()):
        if number % _IN_A_ROW == _IN_A_ROW - 1:
            yield
        parts = dict(entity)
        if not all(match.fits(parts) for match in matches) or (request.strict and len(parts) > len(matches)):
            continue
        entries.append(
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in sorted(parts.items())],
                values=[ValueData(key=key, value=value) for key, value in values.items()],
            )
        )
    return DescribeClientQuotasResponse(error_message=None, entries=entries)


def _match(kind: str, how: int, name: str | None) -> Match:
    if how == _ANY:
        return Match(kind, None, any_name=True)
    if how == _NAMELESS:
        return Match(kind, None)
    if how != _EXACT or name is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The filter for {kind} says neither a name nor which to take.")
    return Match(kind, name)


def error_response(
    request: DescribeClientQuotasRequest, version: int, error: KafkaError
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)


DESCRIBE_CLIENT_QUOTAS: Final = Api(
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    DescribeClientQuotasRequest,
    describe_client_quotas,
    error_response,
    most_elements=1_000,  # there are three kinds of entities to name
)
