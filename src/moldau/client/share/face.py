"""`KafkaShareConsumer`: a member of a share group, with the methods of Java's `ShareConsumer` under Python's names.

    with KafkaShareConsumer("orders", group_id="packers", share_acknowledgement_mode="explicit") as consumer:
        for records in consumer.poll(1000).values():
            for record in records:
                consumer.acknowledge(record, AcknowledgeType.ACCEPT if pack(record) else AcknowledgeType.RELEASE)

For one thread at a time; `wakeup` may be called from any.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any, ClassVar, Final

from moldau.client.consumer.subscription import check_subscription
from moldau.client.future import run
from moldau.client.session import Session
from moldau.client.settings import COMMON
from moldau.client.share.acknowledgements import AcknowledgedRun, AcknowledgeType
from moldau.client.share.acquired import AcquiredRecords, ShareRecord
from moldau.client.share.counters import measured
from moldau.client.share.in_flight import Acknowledgements, InFlight
from moldau.client.share.node_session import NodeSession
from moldau.client.share.settings import DEFAULTS, fetch_options, group_options, read_settings
from moldau.client.share.share_fetcher import ShareFetcher
from moldau.client.share.share_membership import LEAVING, ShareMembership
from moldau.errors import KafkaError, MoldauError
from moldau.errors.named import IllegalArgumentError, IllegalStateError, KafkaTimeoutError, WakeupError
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.client")

# How long one wait lasts at most: the membership and time-outs are looked at in between.
_LOOK_AGAIN: Final = 0.5

Callback = Callable[[dict[TopicPartition, set[int]], BaseException | None], Any]
Outcomes = dict[TopicPartition, BaseException | None]


class KafkaShareConsumer:
    """Topics given to it are subscribed to. See `share/settings` for what it can be told."""

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = {**COMMON, **DEFAULTS}

    def __init__(self, *topics: str, **configs: Any) -> None:
        self.config = read_settings(configs)
        self._explicit = self.config["share_acknowledgement_mode"] == "explicit"
        group = group_options(self.config)
        self._session = Session(self.config, "share-consumer", "share consumer")
        self._background, self._network = self._session.background, self._session.network
        self._fetcher = ShareFetcher(self._network, fetch_options(self.config), group.member_id)
        self._acknowledger = self._fetcher.acknowledger
        self._membership = ShareMembership(self._network, group, self._fetcher.assign, self._fetcher.fatal)
        self._in_flight = InFlight()
        # Renewals the broker has not answered yet: their records are handed out again afterwards.
        self._renewing: list[Acknowledgements] = []
        self._callback: Callback | None = None
        self._telling = False
        self._topics: frozenset[str] = frozenset()
        self._woken = False
        self._session.open()
        if topics:
            self.subscribe(topics)

    # ------------------------------------------------------------------------------------------------ what is read

    def subscribe(self, topics: Iterable[str]) -> None:
        """Reads these topics, and no others, together with the other members of the group."""
        self._session.check_open()
        if isinstance(topics, str):
            raise TypeError("topics are given as a list of names")
        names = list(topics)
        if not names:
            self.unsubscribe()
            return
        check_subscription(names, None, None)
        self._topics = frozenset(names)
        self._background.call(partial(self._membership.subscribe, self._topics))

    def subscription(self) -> set[str]:
        return set(self._topics)

    def unsubscribe(self) -> None:
        """Leaves the group. What was fetched and not handed out goes back at once; what was handed out may still be
        acknowledged."""
        self._background.check_process()
        if self._session.closed or not self._topics:
            return
        self._topics = frozenset()
        self._fetcher.release()
        leaving = self._background.begin(self._membership.unsubscribe)
        self._pump()
        try:
            leaving.wait(LEAVING)
        except MoldauError as error:
            logger.info("the share group %s was not told good-bye: %s", self.config["group_id"], error)

    def assignment(self) -> set[TopicPartition]:
        """The partitions the coordinator lets us read from at the moment; others may read from them as well."""
        return set(self._fetcher.assigned.values())

    # ----------------------------------------------------------------------------------------------------- records

    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, list[ShareRecord]]:
        """The next records by partition; waits up to `timeout_ms` for the first of them.

        With implicit acknowledgement the records of the last poll are accepted by that. With explicit acknowledgement
        all of them must have been acknowledged before. Records whose lock was renewed are handed out again first.
        """
        self._session.check_open()
        if timeout_ms < 0:
            raise IllegalArgumentError("timeout_ms is a time to wait, so it cannot be below 0.")
        most = self.config["max_poll_records"] if max_records is None else max_records
        if isinstance(most, bool) or not isinstance(most, int):
            raise TypeError(f"max_records is a whole number, not {most!r}")
        if most < 1:
            raise IllegalArgumentError("max_records must be at least 1.")
        if not self._topics:
            raise IllegalStateError("The share consumer is not subscribed to any topic.")
        self._tell()
        if self._explicit and not self._in_flight.all_said:
            raise IllegalStateError("All records must be acknowledged before the next poll.")
        self._send_acknowledgements()
        return self._wait_for_records(monotonic() + timeout_ms / 1000, most)

    def _wait_for_records(self, deadline: float, most: int) -> dict[TopicPartition, list[ShareRecord]]:
        fetcher = self._fetcher
        self._background.call(self._membership.polled)
        try:
            while True:
                with fetcher.changed:
                    change = fetcher.changed.ticket()
                    self._raise_error()
                    found = self._take_renewed() if self._renewing else self._take(most)
                    wanted = fetcher.wanted = not found and not self._renewing
                self._background.call(partial(fetcher.pump, wanted=wanted))
                if found:
                    return found
                self._tell()
                remaining = deadline - monotonic()
                if remaining <= 0:
                    return {}
                change.wait(min(remaining, _LOOK_AGAIN))
        finally:
            fetcher.wanted = False

    def _raise_error(self) -> None:
        if self._woken:
            self._woken = False
            raise WakeupError("The share consumer was woken up.")
        error, self._fetcher.error = self._fetcher.error, None
        if error is not None:
            raise error

    def _take_renewed(self) -> dict[TopicPartition, list[ShareRecord]]:
        """Once the broker has answered all renewals: those that were granted."""
        if not all(told.over for told in self._renewing):
            return {}
        found: dict[TopicPartition, list[ShareRecord]] = {}
        renewed, self._renewing = self._renewing, []
        for told in renewed:
            if told.error is None:
                self._in_flight.of(told.session, told.where, told.topic_id).add(told.renewed, [])
                found[told.where] = found.get(told.where, []) + told.renewed
        return found

    def _take(self, most: int) -> dict[TopicPartition, list[ShareRecord]]:
        found: dict[TopicPartition, list[ShareRecord]] = {}
        buffered = self._fetcher.buffered
        left = most
        while buffered and left > 0:
            session, acquired = buffered[0]
            if self._fetcher.expired(acquired):
                buffered.popleft()  # others have them by now
                continue
            try:
                taken = acquired.take(left, unreadable=not found)
            except Exception:
                # Bytes that no records can be made of, although their checksum is right.
                buffered.popleft()
                self._reject(session, acquired)
                raise
            handed = self._in_flight.of(session, acquired.where, acquired.topic_id)
            handed.add(taken.records, taken.gaps)
            if taken.records:
                found[acquired.where] = found.get(acquired.where, []) + taken.records
                left -= len(taken.records)
            if acquired.done:
                buffered.popleft()
            if taken.unreadable is not None:
                handed.add_unreadable(taken.unreadable)
                assert taken.error is not None
                raise taken.error
            if not acquired.done and left > 0:
                break  # at a record that cannot be read: the next poll meets it
        self._fetcher.counters.records += most - left
        return found

    def _reject(self, session: NodeSession, acquired: AcquiredRecords) -> None:
        runs = [AcknowledgedRun(*each, [int(AcknowledgeType.REJECT)]) for each in sorted(acquired.rest())]
        self._acknowledger.tell([Acknowledgements(session, acquired.where, acquired.topic_id, runs, (), [])])

    # -------------------------------------------------------------------------------------------- acknowledgements

    def acknowledge(self, record: Any, ack_type: AcknowledgeType | int = AcknowledgeType.ACCEPT) -> None:
        """Says what became of a record of the last poll; told to the broker with the next poll or commit."""
        self.acknowledge_offset(record.topic, record.partition, record.offset, ack_type)

    def acknowledge_offset(
        self, topic: str, partition: int, offset: int, ack_type: AcknowledgeType | int = AcknowledgeType.ACCEPT
    ) -> None:
        """The same by its place; also for a record that could not be read, whose error says where it is."""
        self._session.check_open()
        if not self._explicit:
            raise IllegalStateError("Records are acknowledged implicitly (share_acknowledgement_mode).")
        self._in_flight.acknowledge(TopicPartition(topic, partition), offset, AcknowledgeType(ack_type))

    def commit_sync(self, timeout_ms: float | None = None) -> Outcomes:
        """Tells what became of records, and waits for the brokers' answers: per partition None, or what went wrong.
        With implicit acknowledgement everything handed out is accepted."""
        self._session.check_open()
        told = self._send_acknowledgements()
        self._pump()
        timeout = self._session.timeout if timeout_ms is None else timeout_ms / 1000
        self._settle(monotonic() + timeout, told)
        outcomes: Outcomes = {}
        for each in told:
            error = each.error if each.over else KafkaTimeoutError("There was no answer in the time allowed.")
            outcomes[each.where] = error or outcomes.get(each.where)
        self._tell()
        return outcomes

    def commit_async(self) -> None:
        """The same without waiting; the callback hears how it ended."""
        self._session.check_open()
        self._send_acknowledgements()
        self._pump()
        self._tell()

    def set_acknowledgement_commit_callback(self, callback: Callback | None) -> None:
        """`callback(offsets, error)` when brokers have answered: offsets by partition, and what went wrong with them or
        None. Called within `poll`, the commits and `close`."""
        if callback is not None and not callable(callback):
            raise TypeError(f"a callback is a function, not {callback!r}")
        self._callback = callback

    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long a record that was handed out is ours; None until a broker has said so."""
        return self._acknowledger.lock_timeout_ms

    def _send_acknowledgements(self) -> list[Acknowledgements]:
        told = self._in_flight.take(accept=not self._explicit)
        self._renewing += [each for each in told if each.renewed]
        self._acknowledger.tell(told)
        return told

    def _settle(self, deadline: float, told: Iterable[Acknowledgements] | None = None) -> None:
        """Waits until these are over, or whatever is under way."""
        while True:
            with self._fetcher.changed:
                change = self._fetcher.changed.ticket()
                over = self._acknowledger.outstanding == 0 if told is None else all(each.over for each in told)
            remaining = deadline - monotonic()
            if over or remaining <= 0:
                return
            change.wait(min(remaining, _LOOK_AGAIN))

    def _tell(self) -> None:
        """Runs the callback for what is over. A callback that commits in its turn does not get here again."""
        if self._telling:
            return
        finished = self._acknowledger.finished
        self._telling = True
        try:
            done: dict[TopicPartition, set[int]] = {}
            while finished:
                each = finished.popleft()
                if self._callback is None or not each.offsets:
                    continue
                if each.error is None:
                    if not done.get(each.where, set()).isdisjoint(each.offsets):
                        # Released, and meanwhile delivered again and accepted: that is two things to hear of.
                        run(partial(self._callback, done), None)
                        done = {}
                    done.setdefault(each.where, set()).update(each.offsets)
                else:
                    run(partial(self._callback, {each.where: set(each.offsets)}), each.error)
            if done and self._callback is not None:
                run(partial(self._callback, done), None)
        finally:
            self._telling = False

    # --------------------------------------------------------------------------------------------------- the ends

    def wakeup(self) -> None:
        """From any thread: a poll that waits, or else the next one, ends with `WakeupError`."""
        self._woken = True
        with self._fetcher.changed:
            self._fetcher.changed.notify_all()

    def close(self, timeout_ms: float | None = None) -> None:
        """Tells what was acknowledged, gives back everything else, leaves the group, ends the network's thread.

        What the last poll handed out and nobody acknowledged is given back as well, also with implicit acknowledgement:
        nobody knows whether it was done with. `commit_sync` before says that it was.
        """
        if self._session.closed:
            return
        self._session.closed = True
        if self._background.forked:
            return  # the parent's, and so is its place in the group
        deadline = monotonic() + (LEAVING if timeout_ms is None else timeout_ms / 1000)
        try:
            if self._background.on_thread:
                return
            self._acknowledger.tell(self._in_flight.take(accept=False))
            ending = self._background.begin(self._fetcher.end)
            ending.settles(max(0.0, deadline - monotonic()))
            leaving = self._background.begin(self._membership.close)
            leaving.settles(max(0.0, deadline - monotonic()))
            self._tell()
        except KafkaError:
            pass  # whoever closes wants to go; the group notices by itself
        finally:
            self._background.close(self._network.close)
            for name in ("key_deserializer", "value_deserializer"):
                if hasattr(self.config[name], "deserialize") and hasattr(self.config[name], "close"):
                    self.config[name].close()

    def metrics(self, raw: bool = False) -> dict[str, dict[str, float]]:
        """What was done so far, under Kafka's names."""
        return measured(self._fetcher.counters, self._membership, len(self._fetcher.assigned))

    def _pump(self) -> None:
        self._background.call(self._fetcher.pump)

    def __enter__(self) -> KafkaShareConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_session") and not self._session.closed:
            self.close(timeout_ms=1000)
