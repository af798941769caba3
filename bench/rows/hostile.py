"""Worst wait beside hostile requests: one client asks for too much, another for an empty Metadata every 20 ms.

What counts is the longest wait of the second one. The first is answered, refused or cut off, as the broker likes; how
long that took is told beside it. Who does not answer at all within a minute is not asked again, and said to be so.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bench import hostile
from bench.contenders import MOLDAU, Contender, Running
from bench.conversation import Conversation
from bench.hostile_newer import GROUP, NEWER, pushes
from bench.results import Metric
from bench.rows.row import Measure, Plan, Row, Unanswered, topic
from bench.waiting import waiting
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.records import Compression
from moldau.server.apis.table import BROKER_APIS

CHAPTER = "Worst wait beside hostile requests"
TITLE = "worst wait beside"
# Long enough for a backtracking matcher, and for a name of a topic.
LONG_NAMES = [f"{'a' * 200}-{number:03d}" for number in range(200)]
BATCHES: dict[str, tuple[Callable[[], bytes], dict[str, str]]] = {
    "a zstd batch of some KB that unpacks to 120 MB": (lambda: hostile.bomb(Compression.ZSTD), {}),
    "a gzip batch of 120 KB that unpacks to 120 MB": (lambda: hostile.bomb(Compression.GZIP), {}),
    "a batch of 720,000 records, all refused": (hostile.keyless, {"cleanup.policy": "compact"}),
    "a batch of 30 MB that is packed anew": (hostile.text, {"compression.type": "gzip"}),
}


# Far longer than anybody who answers takes.
ANSWER_SECONDS = 60.0


def wait_beside(
    broker: Running, act: Callable[[Conversation], object], patience: float = ANSWER_SECONDS
) -> dict[str, float]:
    answered = True
    with Conversation(broker.address, patience) as conversation, waiting(broker.address, patience) as found:
        time.sleep(0.2)
        began = time.perf_counter()
        try:
            act(conversation)
        except TimeoutError:
            answered = False
        except OSError:
            pass  # cut off, which is an answer too
        took = time.perf_counter() - began
        time.sleep(0.2)
    numbers = {"longest wait": found.milliseconds, "request": took * 1000}
    if not answered or not found.answered:
        who = "the other client" if answered else "the request"
        raise Unanswered(f"{who} was not answered within {patience:g} s", numbers)
    return numbers


def many(api: ApiKey, count: int) -> Measure:
    build, element = hostile.MANY[api] if api in hostile.MANY else NEWER[api]

    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        if api in NEWER:
            find_coordinator(broker, GROUP)
        request = hostile.names_many(build, element, count, plan.version(api, hostile.HIGHEST.get(api, 99)))
        return wait_beside(broker, lambda conversation: conversation.send(request))

    return measure


def most_of(api: ApiKey) -> int:
    """Just below what our node takes, each with all that is in it: as much of a request as it ever serves."""
    build, element = NEWER[api]
    within = _elements(build([element("#" * 7)])) - _elements(build([]))
    bound = next(row.most_elements for row in BROKER_APIS if row.key == api)
    most = bound // within
    return most // 1000 * 1000 - 1000 if most > 10_000 else most - within


def _elements(part: object) -> int:
    if isinstance(part, list):
        return len(part) + sum(map(_elements, part))
    return sum(_elements(getattr(part, field)) for field in getattr(part, "FIELDS", ()))


def pushing(megabytes: int) -> Measure:
    """Only our node takes metrics of clients without a plug-in."""

    def measure(_: Contender, broker: Running, __: Plan) -> dict[str, float]:
        with Conversation(broker.address) as conversation:
            asked = conversation.ask(GetTelemetrySubscriptionsRequest(), 0, GetTelemetrySubscriptionsResponse)
            request = pushes(asked.client_instance_id, asked.subscription_id, megabytes)
            # On this connection: the instance ends with it.
            return wait_beside(broker, lambda _: conversation.send(request))

    return measure


def one_often(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    with topic(broker) as name:
        request = hostile.describes_often(name, 50_000, plan.version(ApiKey.DESCRIBE_CONFIGS))
        return wait_beside(broker, lambda conversation: conversation.send(request))


def pattern(number: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        create(broker, plan, [CreatableTopic(name=name, num_partitions=1) for name in LONG_NAMES])
        try:
            find_coordinator(broker, f"pattern-{number}")
            request = hostile.heartbeat(f"pattern-{number}", hostile.PATTERNS[number], 1)
            return wait_beside(broker, lambda conversation: conversation.send(request))
        finally:
            delete(broker, plan, LONG_NAMES)

    return measure


def batch(name: str) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        build, settings = BATCHES[name]
        configs = [CreatableTopicConfig(name=key, value=value) for key, value in settings.items()]
        create(broker, plan, [CreatableTopic(name="hostile", num_partitions=1, configs=configs)])
        try:
            request = hostile.produces("hostile", build(), plan.produce_version)
            return wait_beside(broker, lambda conversation: conversation.send(request))
        finally:
            delete(broker, plan, ["hostile"])

    return measure


def ending(number: int) -> Measure:
    """A transaction that wrote to so many partitions: each of them gets a marker."""

    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        create(broker, plan, [CreatableTopic(name="written", num_partitions=number)])
        try:
            with Conversation(broker.address, ANSWER_SECONDS) as conversation:
                producer = _producer(conversation)
                named = [AddPartitionsToTxnTopic(name="written", partitions=list(range(number)))]
                conversation.ask(
                    AddPartitionsToTxnRequest(
                        v3_and_below_transactional_id="hostile",
                        v3_and_below_producer_id=producer.producer_id,
                        v3_and_below_producer_epoch=producer.producer_epoch,
                        v3_and_below_topics=named,
                    ),
                    3,
                    AddPartitionsToTxnResponse,
                )
            end = EndTxnRequest(
                transactional_id="hostile",
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                committed=True,
            )
            # The markers are written behind the answer; who initialises the producer anew waits for them.
            return wait_beside(
                broker, lambda conversation: (conversation.ask(end, 3, EndTxnResponse), _producer(conversation))
            )
        finally:
            delete(broker, plan, ["written"])

    return measure


def _producer(conversation: Conversation) -> InitProducerIdResponse:
    """Waits until there is a coordinator, and until it has ended what is open."""
    deadline = time.monotonic() + ANSWER_SECONDS
    asked = InitProducerIdRequest(transactional_id="hostile", transaction_timeout_ms=60_000)
    while time.monotonic() < deadline:
        found = conversation.ask(FindCoordinatorRequest(key="hostile", key_type=1), 3, FindCoordinatorResponse)
        if not found.error_code:
            producer = conversation.ask(asked, 4, InitProducerIdResponse)
            if not producer.error_code:
                return producer
        time.sleep(0.05)
    raise TimeoutError("nobody coordinates the transaction")


def creating(number: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        found = wait_beside(
            broker, lambda _: create(broker, plan, [CreatableTopic(name="many", num_partitions=number)])
        )
        delete(broker, plan, ["many"])
        return found

    return measure


def deleting(number: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        create(broker, plan, [CreatableTopic(name="many", num_partitions=number)])
        return wait_beside(broker, lambda _: delete(broker, plan, ["many"]))

    return measure


def describing(number: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        create(broker, plan, [CreatableTopic(name="many", num_partitions=number)])
        try:
            request = hostile.all_topics(plan.version(ApiKey.METADATA, 12))
            return wait_beside(broker, lambda conversation: conversation.send(request))
        finally:
            delete(broker, plan, ["many"])

    return measure


def find_coordinator(broker: Running, group: str) -> None:
    """Waits until the broker answers for the group: the first question creates the topic groups are kept in."""
    deadline = time.monotonic() + ANSWER_SECONDS
    with Conversation(broker.address, ANSWER_SECONDS) as conversation:
        while time.monotonic() < deadline:
            found = conversation.ask(FindCoordinatorRequest(key=group), 3, FindCoordinatorResponse)
            if not found.error_code:
                described = conversation.ask(DescribeGroupsRequest(groups=[group]), 5, DescribeGroupsResponse)
                if not described.groups[0].error_code:
                    return
            time.sleep(0.05)
    raise TimeoutError(f"nobody coordinates {group}")


def joining(assignor: str, number: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        names = [f"joined-{index:05d}" for index in range(number)]
        create(broker, plan, [CreatableTopic(name=name, num_partitions=1) for name in names])
        try:
            find_coordinator(broker, f"joins-{assignor}")
            request = hostile.joins(f"joins-{assignor}", names, assignor, 1)
            return wait_beside(broker, lambda conversation: conversation.send(request))
        finally:
            delete(broker, plan, names)

    return measure


def listing_groups(number: int) -> Measure:
    """The groups have one topic, which is deleted at the end: then all of them lose their offset, and go."""

    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        create(broker, plan, [CreatableTopic(name="grouped", num_partitions=1)])
        find_coordinator(broker, "listed")
        with Conversation(broker.address) as conversation:
            for index in range(number):
                conversation.send(
                    hostile.commits(f"listed-{index:05d}", "grouped", plan.version(ApiKey.OFFSET_COMMIT, 9))
                )
        request = hostile.lists_groups(plan.version(ApiKey.LIST_GROUPS))

        def act(conversation: Conversation) -> None:
            conversation.send(request)
            delete(broker, plan, ["grouped"])

        return wait_beside(broker, act)

    return measure


def create(broker: Running, plan: Plan, topics: list[CreatableTopic]) -> None:
    for made in topics:
        made.replication_factor = 1
    with Conversation(broker.address) as conversation:
        request = CreateTopicsRequest(topics=topics, timeout_ms=120_000)
        conversation.ask(request, plan.version(ApiKey.CREATE_TOPICS), CreateTopicsResponse)


def delete(broker: Running, plan: Plan, names: list[str]) -> None:
    with Conversation(broker.address) as conversation:
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=120_000)
        conversation.ask(request, plan.version(ApiKey.DELETE_TOPICS, 5), DeleteTopicsResponse)


def speaks_all(contender: Contender) -> str:
    return "" if contender.durable else "speaks few of these requests"


def takes_metrics(contender: Contender) -> str:
    return "" if contender.name == MOLDAU.name else "takes metrics of clients only with a plug-in"


def row(title: str, measure: Measure, cost: float = 5.0, unable: Callable[[Contender], str] = speaks_all) -> Row:
    metrics = [Metric("longest wait", "ms", more_is_better=False), Metric("request", "ms", more_is_better=False)]
    return Row(
        CHAPTER, f"{TITLE} {title}", metrics, measure, cost=cost, most=3, quick=False, unable=unable, warmed=False
    )


ROWS = [
    *(row(f"a heartbeat with the pattern {text}", pattern(number)) for number, text in enumerate(hostile.PATTERNS)),
    row("DescribeConfigs of one topic 50,000 times", one_often),
    *(row(f"one {api.name} of 1 M elements", many(api, hostile.MILLION), 10.0) for api in hostile.MANY),
    *(row(f"one {api.name} of 199,000 elements", many(api, hostile.MOST), 5.0) for api in hostile.MANY),
    *(row(f"one {api.name} of 1 M elements", many(api, hostile.MILLION), 10.0) for api in NEWER),
    *(row(f"one {api.name} of {most_of(api):,} elements", many(api, most_of(api)), 5.0) for api in NEWER),
    row("metrics of a client that unpack to 15 MB", pushing(15), unable=takes_metrics),
    *(row(name, batch(name)) for name in BATCHES),
    row("creating 1,000 partitions", creating(1000)),
    row("deleting 3,000 partitions", deleting(3000), 10.0),
    row("ending a transaction in 5,000 partitions", ending(5000), 20.0),
    row("Metadata of 6,000 partitions", describing(6000), 20.0),
    row("creating 10,000 partitions", creating(10_000), 30.0),
    row("deleting 10,000 partitions", deleting(10_000), 30.0),
    *(row(f"joining a group over 3,000 topics, {name}", joining(name, 3000), 20.0) for name in ("uniform", "range")),
    row("ListGroups and DeleteTopics with 20,000 groups", listing_groups(20_000), 20.0),
]
