"""ACLs and passwords with our admin client and with kafka-python's, on an Apache Kafka that keeps them.

Needs Java and Kafka's jars: `make compat-kafka`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import kafka
import kafka.admin
import pytest
from java_tools import ApacheKafka, KafkaTools, find_libs

import moldau
import moldau.admin
from moldau import KafkaProducer, errors

pytestmark = [pytest.mark.long, pytest.mark.kafka]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    libs = find_libs()
    if isinstance(libs, str):
        pytest.skip(libs)
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": module,
    }
    node = ApacheKafka(
        KafkaTools(libs), tmp_path_factory.mktemp("kafka") / "data", settings, {"SASL": "SASL_PLAINTEXT"}
    )
    node.format("accesscontrolaccesscon")
    node.start()
    yield node
    node.kill()


def entries(names: Any, topic: str) -> list[Any]:
    pattern = names.ResourcePattern(names.ResourceType.TOPIC, topic)
    return [
        names.ACL("User:jan", "*", operation, names.ACLPermissionType.ALLOW, pattern)
        for operation in (names.ACLOperation.WRITE, names.ACLOperation.DESCRIBE)
    ]


def everything_of(names: Any, topic: str) -> Any:
    pattern = names.ResourcePatternFilter(names.ResourceType.TOPIC, topic, names.ACLResourcePatternType.ANY)
    return names.ACLFilter(None, None, names.ACLOperation.ANY, names.ACLPermissionType.ANY, pattern)


def text(acls: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(
        (each.principal, each.host, int(each.operation), int(each.permission_type), each.resource_pattern.resource_name)
        for each in acls
    )


def test_entries_and_passwords_like_kafka_python(guarded: ApacheKafka) -> None:
    outcomes = []
    for package, names in ((kafka, kafka.admin), (moldau, moldau.admin)):
        with package.KafkaAdminClient(bootstrap_servers=guarded.bootstrap) as admin:
            created = admin.create_acls(entries(names, "guarded"))
            found, outcome = admin.describe_acls(everything_of(names, "guarded"))
            ((wanted, deleted, how),) = admin.delete_acls([everything_of(names, "guarded")])
            upsertion = names.UserScramCredentialUpsertion("eva", "SCRAM-SHA-256", "secret")
            altered = admin.alter_user_scram_credentials([upsertion])
            described = admin.describe_user_scram_credentials(["eva"])
            removed = admin.alter_user_scram_credentials([names.UserScramCredentialDeletion("eva", "SCRAM-SHA-256")])
            gone = admin.describe_user_scram_credentials(["eva"])
        assert isinstance(wanted, names.ACLFilter)
        outcomes.append(
            (
                text(created["succeeded"]),
                created["failed"],
                text(found),
                outcome.__name__,
                text(deleted),
                how.__name__,
                altered,
                [(int(info["mechanism"]), info["iterations"]) for info in described["eva"]["credential_infos"]],
                removed,
                gone["eva"]["credential_infos"],
                gone["eva"]["error"] is None,
            )
        )
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[1][2]) == 2


def test_who_is_let_in_and_what_it_may(guarded: ApacheKafka) -> None:
    with moldau.KafkaAdminClient(bootstrap_servers=guarded.bootstrap) as admin:
        admin.create_topics(["ours", "theirs"])
        admin.create_acls(entries(moldau.admin, "ours"))
        admin.alter_user_scram_credentials(
            [moldau.admin.UserScramCredentialUpsertion("jan", "SCRAM-SHA-256", "secret")]
        )
    with KafkaProducer(
        bootstrap_servers=guarded.address("SASL"),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_plain_username="jan",
        sasl_plain_password="secret",
    ) as producer:
        assert producer.send("ours", b"x").get(10).offset == 0
        with pytest.raises(errors.TopicAuthorizationFailedError):
            producer.send("theirs", b"x").get(10)
