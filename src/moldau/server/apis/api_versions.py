"""ApiVersions (key 18): which APIs and versions are offered here, and the features of the cluster.

The first request on most connections. Version 1 adds the throttle time, 3 is flexible, carries the name and version of
the client's software and answers with features, 4 may name features whose lowest level is 0 (older clients cannot read
those). A version that is too new is answered in the form of version 0 with the range of this API, so that any client
can go on; the response header never has tagged fields, for the same reason.

Produce is advertised from version 0 although 0 to 2 are gone: librdkafka takes a broker without them for one that
cannot compress. Who really uses them is disconnected, as by Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from moldau.errors import ErrorCode
from moldau.metadata.features import KRAFT_VERSION, supported_features
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from moldau.server.connection import ClientSoftware
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

_LONGEST_NAME: Final = 200

_ADVERTISED_FROM: Final[Mapping[int, int]] = {ApiKey.PRODUCE: 0}


def api_versions(context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if context.version >= 3:
        software = ClientSoftware(request.client_software_name, request.client_software_version)
        if not all(_SOFTWARE.fullmatch(text) for text in software):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        # It is kept as long as the connection lasts.
        software = ClientSoftware(*(text[:_LONGEST_NAME] for text in software))
        context.connection.software = software
        if context.services.own_call is not None:
            context.services.own_call.hear(software.version)
    services = context.services
    image = services.metadata.image
    # The one level that no record of the cluster names: the quorum has it.
    finalized = {**image.features, KRAFT_VERSION: services.quorum.voters.kraft_version}
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(
                api_key=key,
                min_version=_ADVERTISED_FROM.get(key, offer.min_version),
                max_version=offer.max_version,
            )
            for key, offer in sorted(context.connection.table.offers.items())
        ],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.minimum, max_version=levels.maximum)
            for name, levels in supported_features().items()
            if context.version >= 4 or levels.minimum > 0
        ],
        finalized_features_epoch=image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in finalized.items()
            if level > 0
        ],
    )


def unsupported_version(first: int, last: int) -> ApiVersionsResponse:
    """The answer to a version we do not know, in the form of version 0."""
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=first, max_version=last)],
    )


API_VERSIONS: Final = Api(
    ApiKey.API_VERSIONS, ApiVersionsRequest, api_versions, unsupported_version=unsupported_version
)
