"""What is offered, beside what Apache Kafka 4.3 offers: which APIs on which listeners, in which versions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from moldau.protocol.api import ApiKey
from moldau.server.apis.table import BROKER_APIS, CONTROLLER_APIS
from moldau.server.dispatch import Api, DispatchTable

# The last version of InitProducerId may still change, and is offered to who asks for unstable ones.
KAFKA = """
    Produce                        3 to 13  broker
    Fetch                          4 to 18  broker controller
    ListOffsets                    1 to 11  broker
    Metadata                       0 to 13  broker
    OffsetCommit                   2 to 10  broker
    OffsetFetch                    1 to 10  broker
    FindCoordinator                0 to 6   broker
    JoinGroup                      0 to 9   broker
    Heartbeat                      0 to 4   broker
    LeaveGroup                     0 to 5   broker
    SyncGroup                      0 to 5   broker
    DescribeGroups                 0 to 6   broker
    ListGroups                     0 to 5   broker
    SaslHandshake                  0 to 1   broker controller
    ApiVersions                    0 to 4   broker controller
    CreateTopics                   2 to 7   broker controller
    DeleteTopics                   1 to 6   broker controller
    DeleteRecords                  0 to 2   broker
    InitProducerId                 0 to 6   broker
    OffsetForLeaderEpoch           2 to 4   broker
    AddPartitionsToTxn             0 to 5   broker
    AddOffsetsToTxn                0 to 4   broker
    EndTxn                         0 to 5   broker
    WriteTxnMarkers                1 to 2   broker
    TxnOffsetCommit                0 to 5   broker
    DescribeAcls                   1 to 3   broker controller
    CreateAcls                     1 to 3   broker controller
    DeleteAcls                     1 to 3   broker controller
    DescribeConfigs                1 to 4   broker controller
    AlterConfigs                   0 to 2   broker controller
    AlterReplicaLogDirs            1 to 2   broker
    DescribeLogDirs                1 to 5   broker
    SaslAuthenticate               0 to 2   broker controller
    CreatePartitions               0 to 3   broker controller
    CreateDelegationToken          1 to 3   broker controller
    RenewDelegationToken           1 to 2   broker controller
    ExpireDelegationToken          1 to 2   broker controller
    DescribeDelegationToken        1 to 3   broker controller
    DeleteGroups                   0 to 2   broker
    ElectLeaders                   0 to 2   broker controller
    IncrementalAlterConfigs        0 to 1   broker controller
    AlterPartitionReassignments    0 to 1   broker controller
    ListPartitionReassignments     0 to 0   broker controller
    OffsetDelete                   0 to 0   broker
    DescribeClientQuotas           0 to 1   broker
    AlterClientQuotas              0 to 1   broker controller
    DescribeUserScramCredentials   0 to 0   broker controller
    AlterUserScramCredentials      0 to 0   broker controller
    Vote                           0 to 2   controller
    BeginQuorumEpoch               0 to 1   controller
    EndQuorumEpoch                 0 to 1   controller
    DescribeQuorum                 0 to 2   broker controller
    AlterPartition                 2 to 3   controller
    UpdateFeatures                 0 to 2   broker controller
    Envelope                       0 to 0   controller
    FetchSnapshot                  0 to 1   controller
    DescribeCluster                0 to 2   broker controller
    DescribeProducers              0 to 0   broker
    BrokerRegistration             0 to 4   controller
    BrokerHeartbeat                0 to 2   controller
    UnregisterBroker               0 to 0   broker controller
    DescribeTransactions           0 to 0   broker
    ListTransactions               0 to 2   broker
    AllocateProducerIds            0 to 0   controller
    ConsumerGroupHeartbeat         0 to 1   broker
    ConsumerGroupDescribe          0 to 1   broker
    ControllerRegistration         0 to 0   controller
    GetTelemetrySubscriptions      0 to 0   broker
    PushTelemetry                  0 to 0   broker
    AssignReplicasToDirs           0 to 0   controller
    ListConfigResources            0 to 1   broker
    DescribeTopicPartitions        0 to 0   broker
    ShareGroupHeartbeat            1 to 1   broker
    ShareGroupDescribe             1 to 1   broker
    ShareFetch                     1 to 2   broker
    ShareAcknowledge               1 to 2   broker
    AddRaftVoter                   0 to 1   broker controller
    RemoveRaftVoter                0 to 0   broker controller
    UpdateRaftVoter                0 to 0   controller
    InitializeShareGroupState      0 to 0   broker
    ReadShareGroupState            0 to 0   broker
    WriteShareGroupState           0 to 1   broker
    DeleteShareGroupState          0 to 0   broker
    ReadShareGroupStateSummary     0 to 1   broker
    StreamsGroupHeartbeat          0 to 0   broker
    StreamsGroupDescribe           0 to 0   broker
    DescribeShareGroupOffsets      0 to 1   broker
    AlterShareGroupOffsets         0 to 0   broker
    DeleteShareGroupOffsets        0 to 0   broker
"""
UNSTABLE = {"INIT_PRODUCER_ID": 6}
# Kafka's controllers have no answer to it; they know what there is to tell.
MORE = {"broker": set(), "controller": {"DESCRIBE_CLIENT_QUOTAS"}}


def of_kafka(listener: str) -> dict[str, tuple[int, int]]:
    found = {}
    for line in KAFKA.strip().splitlines():
        name, first, _, last, *listeners = line.split()
        if listener in listeners:
            found[_constant(name)] = int(first), int(last)
    return found


def _constant(name: str) -> str:
    """`AddRaftVoter` as ApiKey has it."""
    return "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in name)[1:]


def ours(apis: Sequence[Api], *, unstable: bool) -> dict[str, tuple[int, int]]:
    # No handler is made here that would ask for services: tables are made of the rows alone.
    plain = [
        Api(api.key, api.request, api.handler, min_version=api.min_version, max_version=api.max_version) for api in apis
    ]
    offers = DispatchTable(plain, None, unstable=unstable).offers  # type: ignore[arg-type]
    return {ApiKey(key).name: (offer.min_version, offer.max_version) for key, offer in offers.items()}


@pytest.mark.parametrize(("listener", "apis"), [("broker", BROKER_APIS), ("controller", CONTROLLER_APIS)])
@pytest.mark.parametrize("unstable", [False, True])
def test_what_kafka_offers_is_offered(listener: str, apis: Sequence[Api], unstable: bool) -> None:
    expected = of_kafka(listener)
    for name, last in UNSTABLE.items():
        if name in expected and not unstable:
            expected[name] = expected[name][0], last - 1
    offered = ours(apis, unstable=unstable)
    assert not expected.keys() - offered.keys()
    assert offered.keys() - expected.keys() == MORE[listener]
    both = expected.keys() & offered.keys()
    assert {name: offered[name] for name in both} == {name: expected[name] for name in both}
