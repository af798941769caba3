"""What the cluster as a whole can do: features and their levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from moldau.client.conversation import ANY_NODE, CONTROLLER, Ask, Conversation, Learn, retrying
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.errors import UnsupportedRequest
from moldau.protocol.messages import update_features as updating
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse


class UpgradeType(IntEnum):
    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(slots=True, frozen=True)
class Feature:
    """Levels as (lowest, highest): what the broker supports, and what the cluster has agreed on, if it has."""

    name: str
    supported: tuple[int, int] | None = None
    finalized: tuple[int, int] | None = None
    # Which decision of the cluster this was; None if it is not told.
    epoch: int | None = None


@dataclass(slots=True, frozen=True)
class Software:
    """What one broker says that it can do: ranges of versions by API, levels by feature. And whose it says it is."""

    apis: Mapping[int, tuple[int, int]]
    features: Mapping[str, tuple[int, int]]
    finalized: Mapping[str, int]
    # None where it is too old to say.
    cluster_id: str | None = None


def describe_software(node: int) -> Conversation[Software]:
    """Of this broker, at the address the cluster gives to its clients."""

    def attempt() -> Conversation[Software]:
        yield Learn(())
        request = ApiVersionsRequest(client_software_name="moldau", client_software_version="1")
        response: ApiVersionsResponse = yield Ask(request, to=node)
        _check(response.error_code, None)
        cluster_id = None
        try:
            described: DescribeClusterResponse = yield Ask(DescribeClusterRequest(), to=node)
            cluster_id = described.cluster_id or None
        except UnsupportedRequest:
            pass
        return Software(
            {row.api_key: (row.min_version, row.max_version) for row in response.api_keys},
            {row.name: (row.min_version, row.max_version) for row in response.supported_features},
            {row.name: row.max_version_level for row in response.finalized_features},
            cluster_id,
        )

    return retrying(attempt)


def describe_features(*, controller: bool = False) -> Conversation[list[Feature]]:
    def attempt() -> Conversation[list[Feature]]:
        yield Learn((), anew=True)
        request = ApiVersionsRequest(client_software_name="moldau", client_software_version="1")
        response: ApiVersionsResponse = yield Ask(request, to=CONTROLLER if controller else ANY_NODE)
        _check(response.error_code, None)
        supported = {row.name: (row.min_version, row.max_version) for row in response.supported_features}
        finalized = {row.name: (row.min_version_level, row.max_version_level) for row in response.finalized_features}
        epoch = response.finalized_features_epoch
        return [
            Feature(
                name,
                supported.get(name),
                finalized.get(name),
                epoch if name in finalized and epoch >= 0 else None,
            )
            for name in sorted(supported.keys() | finalized.keys())
        ]

    return retrying(attempt)


def update_features(
    levels: Mapping[str, tuple[UpgradeType, int]], *, validate_only: bool = False, timeout_ms: int = 60_000
) -> Conversation[dict[str, KafkaError | None]]:
    """Agrees on other levels; level 0 gives a feature up."""
    request = updating.UpdateFeaturesRequest(
        timeout_ms=timeout_ms,
        feature_updates=[
            updating.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
            for name, (kind, level) in levels.items()
        ],
        validate_only=validate_only,
    )

    def attempt() -> Conversation[dict[str, KafkaError | None]]:
        response: updating.UpdateFeaturesResponse = yield Ask(request, to=CONTROLLER)
        _check(response.error_code, response.error_message)
        # From version 2 on there is one answer for all, and it was good.
        outcomes: dict[str, KafkaError | None] = dict.fromkeys(levels)
        for row in response.results:
            code = error_code(row.error_code)
            outcomes[row.feature] = None if code is ErrorCode.NONE else KafkaError(code, row.error_message)
        return outcomes

    return retrying(attempt)


def _check(number: int, message: str | None) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, message)
