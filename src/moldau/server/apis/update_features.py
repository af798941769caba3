"""UpdateFeatures (key 57): raises or lowers the levels of features, metadata.version among them.

Versions: 1 can be tried without effect and tells safe downgrades from unsafe ones, 2 has one answer for all features.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def update_features(context: RequestContext, request: UpdateFeaturesRequest) -> Deferred[UpdateFeaturesResponse]:
    require_cluster(context, Operation.ALTER)
    return controller_of(context).update_features(request, context.version)


def error_response(request: UpdateFeaturesRequest, version: int, error: KafkaError) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)


UPDATE_FEATURES: Final = Api(
    ApiKey.UPDATE_FEATURES, UpdateFeaturesRequest, update_features, error_response, most_elements=1_000
)
