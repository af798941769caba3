"""Access rules as the command and the clients make them, and what a client meets that may not do something.

On these nodes everybody is ANONYMOUS and may do what no rule is about, so the first rule about a topic closes it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import confluent_kafka.admin as confluent_admin
import kafka
import kafka.admin
import kafka.errors
import pytest
from node_process import NodeProcess

import moldau
import moldau.admin
import moldau.errors

pytestmark = pytest.mark.ours_only("the node's settings are those of the test")

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:root",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    node = NodeProcess(tmp_path_factory.mktemp("rules") / "data", SETTINGS)
    yield node
    node.stop()


# Seconds, about, until a consumer has heard what it may not.
POLLS = 60

Run = Callable[..., str]


@pytest.fixture
def run(node: NodeProcess) -> Run:
    def run(*arguments: str, status: int = 0) -> str:
        command = [sys.executable, "-m", "moldau", *arguments, "--bootstrap", node.bootstrap]
        done = subprocess.run(command, capture_output=True, timeout=120, text=True)
        assert "Traceback" not in done.stderr
        assert done.returncode == status, done.stderr
        return done.stdout if status in (0, 1) and done.stdout else done.stderr

    return run


def told(text: str) -> Any:
    return json.loads(text)


# ------------------------------------------------------------------------------------------------------- the command


def test_rules_are_added_listed_and_removed(run: Run) -> None:
    added = run("acls", "add", "--user", "jan", "--topic", "rivers", "--operation", "read,describe-configs")
    assert added.splitlines()[1].split() == ["topic", "rivers", "literal", "User:jan", "*", "allow", "read"]
    run("acls", "add", "--principal", "User:eva", "--topic", "riv", "--prefixed", "--operation", "All", "--deny")
    run("acls", "add", "--user", "jan", "--topic", "rivers", "--operation", "read")
    listed = told(run("acls", "list", "--topic", "rivers", "--match", "--json"))
    assert [(each["principal"], each["pattern_type"], each["permission"], each["operation"]) for each in listed] == [
        ("User:eva", "prefixed", "deny", "all"),
        ("User:jan", "literal", "allow", "read"),
        ("User:jan", "literal", "allow", "describe-configs"),
    ]
    assert len(told(run("acls", "list", "--user", "jan", "--json"))) == 2
    shown = run("acls", "remove", "--user", "jan", "--operation", "read", "--dry-run")
    assert shown == run("acls", "remove", "--user", "jan", "--operation", "read")
    assert run("acls", "remove", "--user", "jan", "--operation", "read") == "There is no such rule.\n"
    assert len(told(run("acls", "remove", "--topic", "rivers", "--match", "--json"))) == 2
    assert told(run("acls", "list", "--topic", "rivers", "--match", "--json")) == []


def test_what_producers_and_consumers_need(run: Run) -> None:
    made = told(
        run(
            *("acls", "add", "--user", "jan", "--producer", "--consumer", "--topic", "seas", "--group", "g", "--json"),
            *("--transactional-id", "t", "--host", "10.0.0.1"),
        )
    )
    assert {(each["resource_type"], each["operation"]) for each in made} == {
        *(("topic", "write"), ("topic", "describe"), ("topic", "create"), ("topic", "read")),
        *(("transactional-id", "write"), ("transactional-id", "describe")),
        ("group", "read"),
    }
    assert {(each["host"], each["error"]) for each in made} == {("10.0.0.1", None)}
    removed = run(
        *("acls", "remove", "--user", "jan", "--producer", "--consumer", "--topic", "seas", "--group", "g", "--json"),
        *("--transactional-id", "t", "--host", "10.0.0.1"),
    )
    assert len(told(removed)) == 7


def test_whether_somebody_may_and_by_which_rule(run: Run) -> None:
    question = ("acls", "test", "--user", "jan", "--topic", "lakes.1", "--operation")
    assert "no rule allows it" in run(*question, "read", status=1)
    assert "allow.everyone.if.no.acl.found" in run(*question, "read", "--allow-everyone")
    run("acls", "add", "--user", "*", "--topic", "lakes.", "--prefixed", "--operation", "write", "--host", "10.0.0.7")
    assert run(*question, "describe", "--host", "10.0.0.7") == (
        "User:jan may describe topic 'lakes.1' from 10.0.0.7: User:* from 10.0.0.7 may write topic 'lakes.*' "
        "(prefixed 'lakes.').\n"
    )
    denied = told(run(*question, "write", "--json", status=1))
    assert (denied["allowed"], denied["reason"], denied["rule"]) == (False, "DefaultDeny", None)
    assert "super user" in run(*question, "read", "--super-users", "User:jan")
    run("acls", "remove", "--topic", "lakes.", "--prefixed")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["add", "--topic", "t", "--operation", "read"], "For whom?"),
        (["add", "--user", "jan", "--operation", "read"], "About what?"),
        (["add", "--user", "jan", "--topic", "t"], "To do what?"),
        (["add", "--user", "jan", "--topic", "t", "--operation", "raed"], "did you mean read?"),
        (["add", "--user", "jan", "--topic", "t", "--operation", "cluster-action"], "nothing done to a topic"),
        (["add", "--user", "jan", "--producer"], "Of which topics?"),
        (["add", "--user", "jan", "--consumer", "--topic", "t"], "In which group?"),
        (["add", "--user", "jan", "--producer", "--topic", "t", "--deny"], "say themselves"),
        (["add", "--principal", "jan", "--topic", "t", "--operation", "read"], "is no principal"),
        (["add", "--user", "jan", "--topic", "*", "--prefixed", "--operation", "read"], "--prefixed"),
        (["remove"], "Which rules?"),
        (["list", "--prefixed", "--match"], "--match"),
        (["list", "--allow", "--deny"], "--allow or --deny"),
        (["test", "--user", "jan", "--topic", "t"], "one user, one operation"),
        (["test", "--user", "*", "--topic", "t", "--operation", "read"], "one user, one operation"),
        (["test", "--user", "jan", "--topic", "t", "--operation", "all"], "one operation"),
        (["test", "--user", "jan", "--topic", "t", "--operation", "read", "--super-users", "jan"], "is no principal"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_the_command_does_not_take(run: Run, arguments: list[str], sentence: str) -> None:
    assert sentence in run("acls", *arguments, status=2)


def test_a_node_without_an_authorizer_has_no_rules(bootstrap: str) -> None:
    command = [sys.executable, "-m", "moldau", "acls", "list", "--bootstrap", bootstrap]
    done = subprocess.run(command, capture_output=True, timeout=120, text=True)
    assert done.returncode == 1
    assert "has no authorizer (authorizer.class.name)" in done.stderr


# ------------------------------------------------------------------------------------------------------- the clients


def test_rules_through_the_admin_clients(node: NodeProcess) -> None:
    for names, kind in ((moldau.admin, moldau.KafkaAdminClient), (kafka.admin, kafka.KafkaAdminClient)):
        admin = kind(bootstrap_servers=node.bootstrap)
        pattern = names.ResourcePattern(names.ResourceType.TOPIC, "ponds")
        rule = names.ACL("User:jan", "*", names.ACLOperation.READ, names.ACLPermissionType.ALLOW, pattern)
        assert admin.create_acls([rule])["succeeded"] == [rule]
        wanted = names.ACLFilter(None, None, names.ACLOperation.ANY, names.ACLPermissionType.ANY, pattern)
        assert admin.describe_acls(wanted)[0] == [rule]
        ((_, removed, _),) = admin.delete_acls([wanted])
        assert len(removed) == 1
        admin.close()
    confluent: Any = confluent_admin.AdminClient({"bootstrap.servers": node.bootstrap})
    binding = confluent_admin.AclBinding(
        confluent_admin.ResourceType.TOPIC,
        "ponds",
        confluent_admin.ResourcePatternType.LITERAL,
        "User:jan",
        "*",
        confluent_admin.AclOperation.READ,
        confluent_admin.AclPermissionType.ALLOW,
    )
    for made in confluent.create_acls([binding]).values():
        assert made.result() is None
    every = confluent_admin.AclBindingFilter(
        confluent_admin.ResourceType.ANY,
        "ponds",
        confluent_admin.ResourcePatternType.ANY,
        None,
        None,
        confluent_admin.AclOperation.ANY,
        confluent_admin.AclPermissionType.ANY,
    )
    assert confluent.describe_acls(every).result() == [binding]
    assert [found.result() for found in confluent.delete_acls([every]).values()] == [[binding]]


@pytest.fixture
def closed(run: Run) -> str:
    """A topic that is somebody else's, and a group."""
    run("topics", "create", "closed", "--if-not-exists")
    run("acls", "add", "--user", "jan", "--topic", "closed", "--group", "jans", "--operation", "all")
    return "closed"


def test_who_may_not_write_hears_it(node: NodeProcess, closed: str) -> None:
    for module, errors in ((moldau, moldau.errors), (kafka, kafka.errors)):
        producer = module.KafkaProducer(bootstrap_servers=node.bootstrap)
        with pytest.raises(errors.TopicAuthorizationFailedError):
            producer.send(closed, b"v").get(timeout=60)
        producer.close()
    told_of: list[Any] = []
    confluent: Any = confluent_kafka.Producer({"bootstrap.servers": node.bootstrap})
    confluent.produce(closed, b"v", on_delivery=lambda error, _message: told_of.append(error.code()))
    assert confluent.flush(60) == 0
    assert told_of == [confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED]


def polled(consumer: Any) -> None:
    for _ in range(POLLS):
        consumer.poll(timeout_ms=500)


def test_who_may_not_read_hears_it(node: NodeProcess, run: Run, closed: str) -> None:
    run("topics", "create", "open", "--if-not-exists")
    mine = moldau.KafkaConsumer(bootstrap_servers=node.bootstrap, auto_offset_reset="earliest")
    mine.assign([moldau.TopicPartition(closed, 0)])
    with pytest.raises(moldau.errors.TopicAuthorizationFailedError):
        polled(mine)
    mine.close()
    # kafka-python only logs what happens with a topic; of the group both say it.
    for module, errors in ((moldau, moldau.errors), (kafka, kafka.errors)):
        consumer = module.KafkaConsumer("open", bootstrap_servers=node.bootstrap, group_id="jans")
        with pytest.raises(errors.GroupAuthorizationFailedError):
            polled(consumer)
        consumer.close()
    confluent: Any = confluent_kafka.Consumer({"bootstrap.servers": node.bootstrap, "group.id": "jans"})
    confluent.subscribe(["open"])
    code = None
    for _ in range(POLLS):
        if code is not None:
            break
        message = confluent.poll(1)
        code = None if message is None or message.error() is None else message.error().code()
    assert code == confluent_kafka.KafkaError.GROUP_AUTHORIZATION_FAILED
    confluent.close()


def test_what_may_not_be_described_is_not_listed(node: NodeProcess, run: Run, closed: str) -> None:
    run("topics", "create", "open", "--if-not-exists")
    listed = {entry["name"] for entry in told(run("topics", "list", "--json"))}
    assert "open" in listed
    assert closed not in listed


def test_the_audit_log_is_turned_on_while_the_node_runs(node: NodeProcess, run: Run, closed: str) -> None:
    admin = moldau.KafkaAdminClient(bootstrap_servers=node.bootstrap)

    def level(text: str) -> None:
        resource = moldau.admin.ConfigResource(
            moldau.admin.ConfigResourceType.BROKER_LOGGER, "1", configs={"kafka.authorizer.logger": text}
        )
        admin.alter_configs([resource])

    run("topics", "describe", closed, status=1)
    assert "Principal = " not in node.log.read_text()
    level("INFO")
    run("topics", "describe", closed, status=1)
    assert (
        f"kafka.authorizer.logger: Principal = User:ANONYMOUS is Denied Operation = DESCRIBE from host = 127.0.0.1 on "
        f"resource = TOPIC:LITERAL:{closed}"
    ) in node.log.read_text()
    level("WARN")
    admin.close()


def test_rules_and_their_absence_survive_a_restart(tmp_path: Path) -> None:
    node = NodeProcess(tmp_path / "data", SETTINGS)
    command = [sys.executable, "-m", "moldau", "acls"]
    words = ["--user", "jan", "--topic", "kept", "--operation", "read", "--bootstrap", node.bootstrap]
    try:
        for name in ("kept", "gone"):
            subprocess.run([*command, "add", *words[:3], name, *words[4:]], check=True, timeout=60, capture_output=True)
        gone = ["--topic", "gone", "--bootstrap", node.bootstrap]
        subprocess.run([*command, "remove", *gone], check=True, timeout=60, capture_output=True)
        node.restart()
        listed = subprocess.run(
            [*command, "list", "--json", "--bootstrap", node.bootstrap], check=True, timeout=60, capture_output=True
        )
        assert [each["resource_name"] for each in told(listed.stdout.decode())] == ["kept"]
    finally:
        node.stop()
