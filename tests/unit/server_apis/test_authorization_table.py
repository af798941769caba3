"""Every API against every missing permission, at a node in this process.

`authorization.txt` holds what is answered: each block is a case, each entry what is permitted and what came back. The
same file is held against Apache Kafka (tests/compat/test_kafka_authorization.py). MOLDAU_REWRITE=1 writes it anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode

sys.path.insert(0, str(Path(__file__).parents[2]))
from authorization_table import ASKING, CASES, Case, Permitted, outcomes, prepare
from moldau.config.settings.security import STANDARD_AUTHORIZER
from moldau.protocol.api import RESPONSES, ApiKey
from moldau.protocol.message import Message
from moldau.security.acl import AclFilter
from moldau.server.apis.table import BROKER_APIS

EXPECTED = Path(__file__).with_name("authorization.txt")
# What anybody may ask; and what nobody may who has not logged in, which is for test_api_delegation_tokens.
OPEN_TO_ALL = {
    *(ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE),
    *(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY),
    *(ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN),
    *(ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN),
}


class Node(InProcessNode):
    def __init__(self, data: Path, *, compiled: bool) -> None:
        settings = {
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:admin",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
        }
        super().__init__(data, compiled=compiled, settings=settings)
        self.topic_ids: dict[str, bytes] = {}

    def ask(self, request: Message, version: int, response: Any = None) -> Any:
        return super().ask(request, version, response or RESPONSES[request.API_KEY])

    def permit(self, permitted: Sequence[Permitted]) -> None:
        controller = self.node.controller
        for done in (
            controller.delete_acls([AclFilter(principal=ASKING)]),
            controller.create_acls([each.acl() for each in permitted]),
        ):
            self.turn_until(lambda done=done: bool(done.settled))  # type: ignore[misc]


@pytest.fixture(scope="module", params=[True, False], ids=["compiled", "readable"])
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    node = Node(tmp_path_factory.mktemp("node"), compiled=request.param)

    def settle(holds: Callable[[], bool]) -> None:
        node.turn_until(holds)

    prepare(node, settle)
    yield node
    node.close()


def text_of(one: Case, found: dict[str, list[str]]) -> str:
    lines = [one.name]
    for words, said in found.items():
        lines += [f"  {words}", *(f"    {line}" for line in said)]
    return "\n".join(lines)


def test_every_api(node: Node) -> None:
    found = [text_of(one, outcomes(node, one)) for one in CASES]
    text = "\n\n".join(found) + "\n"
    if os.environ.get("MOLDAU_REWRITE"):
        EXPECTED.write_text(text)
    assert text == EXPECTED.read_text()


def test_no_api_is_left_out() -> None:
    asked = {one.name.split()[0] for one in CASES}
    assert {api.key.name for api in BROKER_APIS if api.key not in OPEN_TO_ALL} == asked
