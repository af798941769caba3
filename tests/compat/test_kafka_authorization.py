"""Every API against every missing permission at Apache Kafka: it answers what a node of ours answers.

That stands in `authorization.txt`, to which the unit tests hold our node. Needs Java and Kafka's jars.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from java_tools import ApacheKafka, KafkaTools, find_libs
from raw_requests import ask

sys.path.insert(0, str(Path(__file__).parents[1]))
from authorization_table import ASKING, CASES, Permitted, outcomes, prepare
from moldau import KafkaAdminClient
from moldau.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from moldau.protocol.message import Message

pytestmark = [pytest.mark.long, pytest.mark.kafka]

EXPECTED: Final = Path(__file__).parents[1] / "unit" / "server_apis" / "authorization.txt"
_JAAS: Final = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="admin" password="secret" user_admin="secret";'
)


class Kafka:
    """Who asks comes in without a name; who permits does by a listener with SASL."""

    def __init__(self, node: ApacheKafka) -> None:
        self.topic_ids: dict[str, bytes] = {}
        self._node = node
        self._admin = KafkaAdminClient(
            bootstrap_servers=node.address("SASL"),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_plain_username="admin",
            sasl_plain_password="secret",
        )

    def ask(self, request: Message, version: int) -> Message:
        answer: Message = ask(self._node.bootstrap, request, version)
        return answer

    def permit(self, permitted: Sequence[Permitted]) -> None:
        pattern = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
        mine = ACLFilter(ASKING, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)
        self._admin.delete_acls([mine])
        wanted = {
            ACL(
                ASKING,
                "*",
                each.operation,
                ACLPermissionType.ALLOW,
                ResourcePattern(each.kind, each.name, ACLResourcePatternType.LITERAL),
            )
            for each in permitted
        }
        if wanted:
            self._admin.create_acls(list(wanted))
        settle(lambda: set(self._admin.describe_acls(mine)[0]) == wanted)


def settle(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Any:
    libs = find_libs()
    if isinstance(libs, str):
        pytest.skip(libs)
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "inter.broker.listener.name": "SASL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": _JAAS,
        "listener.name.controller.plain.sasl.jaas.config": _JAAS,
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
    }
    listeners = {"SASL": "SASL_PLAINTEXT", "CONTROLLER": "SASL_PLAINTEXT"}
    node = ApacheKafka(KafkaTools(libs), tmp_path_factory.mktemp("kafka") / "data", settings, listeners)
    node.format("accesscontrolaccesscon", alone=True)
    node.start()
    target = Kafka(node)
    prepare(target, settle)
    yield target
    node.kill()


def test_every_api(kafka: Kafka) -> None:
    found = []
    for one in CASES:
        lines = [one.name]
        for words, said in outcomes(kafka, one).items():
            lines += [f"  {words}", *(f"    {line}" for line in said)]
        found.append("\n".join(lines))
    assert found == EXPECTED.read_text().rstrip("\n").split("\n\n")
