"""Who this node is in the quorum, from its settings and its directory: the voters, the election it remembers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import parse_address
from moldau.metadata.records import MetadataError
from moldau.raft.effects import Election
from moldau.raft.member import RaftSettings
from moldau.raft.quorum_state import QuorumState, read_quorum_state, write_quorum_state
from moldau.raft.voters import Endpoint, ReplicaKey, Voter, VoterHistory, VoterSet
from moldau.runtime.ports import Disk, Loop, Workers
from moldau.storage.log_dirs import read_meta_properties
from moldau.storage.storage_error import FULL
from moldau.types import ZERO_UUID

logger = logging.getLogger("moldau.raft")

# The versions of kraft.version that this node understands.
KRAFT_VERSIONS = (0, 1)
_DEFAULT_LISTENER = "CONTROLLER"
_FULL_DISK_SECONDS: Final = 0.5


class Membership:
    def __init__(self, config: BrokerConfig, disk: Disk, directory: str) -> None:
        self._config = config
        self._disk = disk
        self._directory = directory
        self._state = QuorumState()
        self._is_closed = False
        names = config.controller_listener_names
        listener = names[0].upper() if names else _DEFAULT_LISTENER
        self.cluster_id: str | None = None
        self.settings = RaftSettings(
            election_timeout=config.controller_quorum_election_timeout_ms / 1000,
            election_backoff_max=config.controller_quorum_election_backoff_max_ms / 1000,
            fetch_timeout=config.controller_quorum_fetch_timeout_ms / 1000,
            request_timeout=config.controller_quorum_request_timeout_ms / 1000,
            retry_backoff=config.controller_quorum_retry_backoff_ms / 1000,
            listener=listener,
            bootstrap_servers=tuple(parse_address(text) for text in config.controller_quorum_bootstrap_servers),
            auto_join=config.controller_quorum_auto_join_enable,
            is_controller=config.is_controller,
        )
        self.configured = _configured(config, listener)
        self.history = VoterHistory(self.configured)
        self.local = Voter(ReplicaKey(config.node_id))

    @property
    def patience(self) -> float:
        """As long as no answer is waited for any more."""
        return 2 * self.settings.request_timeout + 1.0

    def load(self) -> Election:
        """What the directory says: whose it is, and which election this node took part in last."""
        meta = read_meta_properties(self._disk, self._config.metadata_log_directory)
        if meta is not None:
            self.cluster_id = meta.cluster_id
        endpoints = tuple(Endpoint(e.name, e.host, e.port) for e in self._config.advertised_controller_endpoints)
        key = ReplicaKey(self._config.node_id, ZERO_UUID if meta is None else meta.directory_id)
        self.local = Voter(key, endpoints, *KRAFT_VERSIONS)
        state = self._state = read_quorum_state(self._disk, self._directory)
        voted = ReplicaKey(state.voted_id, state.voted_directory_id) if state.voted_id >= 0 else None
        return Election(state.leader_epoch, state.leader_id, voted)

    def check(self) -> None:
        """MetadataError if the directory belongs to another quorum than the one in the settings."""
        remembered, voters = self._state.voters, self.history.last.ids
        if self.history.kraft_version == 0 and remembered and set(remembered) != set(voters):
            raise MetadataError(
                f"{self._directory} belongs to a quorum of the nodes {list(remembered)}, not of {list(voters)}"
            )

    def check_cluster(self, cluster_id: str | None) -> None:
        if cluster_id is not None and self.cluster_id is not None and cluster_id != self.cluster_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"The request is for cluster {cluster_id}, and this is a node of {self.cluster_id}.",
            )

    def save(
        self, election: Election, workers: Workers, loop: Loop, done: Callable[[BaseException | None], None]
    ) -> None:
        """Writes down an election on a worker; tried again while the disk is full, since there may be room again."""
        job = self.saving(election)

        def begin() -> None:
            # The directory may be another's by now, with an election of its own.
            if not self._is_closed:
                workers.submit(job, ended)

        def ended(_: object, error: BaseException | None) -> None:
            if isinstance(error, OSError) and error.errno in FULL:
                logger.error("the election of epoch %d cannot be written down yet: %s", election.epoch, error)
                loop.call_later(_FULL_DISK_SECONDS, begin)
            else:
                done(error)

        begin()

    def close(self) -> None:
        """Nothing more is written."""
        self._is_closed = True

    def saving(self, election: Election) -> Callable[[], None]:
        """The work of writing down an election, for whoever waits for the disk."""
        voted = election.voted
        version = 1 if self.history.kraft_version > 0 else 0
        state = QuorumState(
            election.leader_id,
            election.epoch,
            -1 if voted is None else voted.id,
            ZERO_UUID if voted is None else voted.directory,
            self.history.last.ids,
        )
        return lambda: write_quorum_state(self._disk, self._directory, state, version)


def _configured(config: BrokerConfig, listener: str) -> VoterSet:
    voters = []
    for text in config.controller_quorum_voters:
        id, _, place = text.partition("@")
        host, port = parse_address(place)
        voters.append(Voter(ReplicaKey(int(id)), (Endpoint(listener, host, port),)))
    if config.standalone and not voters:
        voters.append(Voter(ReplicaKey(config.node_id)))
    return VoterSet(voters)
