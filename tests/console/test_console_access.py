"""Users, access rules and quotas: shown, added, changed and removed, each after it was shown what that means."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from chromium import Browser
from console_process import ConsoleProcess
from program import Program

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
from moldau.client.admin.quotas import QuotaChange, alter_client_quotas, describe_client_quotas
from moldau.client.admin.users import describe_credentials
from moldau.client.cluster import Cluster as Line
from moldau.errors import KafkaError
from moldau.testing import Cluster

EVERYTHING = ACLFilter(
    None,
    None,
    ACLOperation.ANY,
    ACLPermissionType.ANY,
    ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
)


def rule(principal: str, operation: ACLOperation, topic: str, *, deny: bool = False, prefixed: bool = False) -> ACL:
    pattern = ACLResourcePatternType.PREFIXED if prefixed else ACLResourcePatternType.LITERAL
    permission = ACLPermissionType.DENY if deny else ACLPermissionType.ALLOW
    return ACL(principal, "*", operation, permission, ResourcePattern(ResourceType.TOPIC, topic, pattern))


@pytest.fixture
def rules(admin: KafkaAdminClient) -> Iterator[None]:
    yield
    admin.delete_acls([EVERYTHING])


@pytest.fixture
def line(cluster: Cluster) -> Iterator[Line]:
    line = Line(cluster.bootstrap_servers)
    yield line
    changes = [QuotaChange(each.entity, dict.fromkeys(each.values)) for each in line.run(describe_client_quotas())]
    line.run(alter_client_quotas(changes))
    line.close()


def kept(admin: KafkaAdminClient) -> set[str]:
    found, _ = admin.describe_acls(EVERYTHING)
    return {
        f"{each.principal} {each.host} {each.permission_type.name} {each.operation.name} "
        f"{each.resource_pattern.pattern_type.name} {each.resource_pattern.resource_name}"
        for each in found
    }


# ---------------------------------------------------------------------------------------------------------------- users


def scram(line: Line, user: str) -> dict[str, int]:
    infos = line.run(describe_credentials(None)).get(user, [])
    assert not isinstance(infos, KafkaError)
    return {each.name.replace("_", "-"): iterations for each, iterations in infos}


def test_a_user_is_added_given_another_password_and_removed(browser: Browser, line: Line) -> None:
    browser.open("/users", "Users")
    browser.click("New user")
    browser.fill("Name", "<b>zoe</b>")
    browser.fill("SCRAM-SHA-256", "off")
    browser.click("Show what would change")
    browser.heading("This would be new")
    browser.see("<b>zoe</b>", "SCRAM-SHA-512", "not at all", "4,096 iterations")
    assert scram(line, "<b>zoe</b>") == {}
    browser.fill("New password", "first-word")
    browser.fill("The same again", "second")
    browser.click("Add the user")
    browser.see("The two passwords differ.")
    assert "first-word" not in browser.driver.page_source
    browser.fill("New password", "first-word")
    browser.fill("The same again", "first-word")
    browser.click("Add the user")
    browser.see("<b>zoe</b> may log in.")
    browser.wait(lambda: scram(line, "<b>zoe</b>") == {"SCRAM-SHA-512": 4096}, "what was set")
    browser.click("<b>zoe</b>")
    browser.fill("Iterations", "8192")
    browser.click("Show what would change")
    browser.see("a password, 4,096 iterations", "another password, 8,192 iterations")
    browser.fill("New password", "third")
    browser.fill("The same again", "third")
    browser.click("Set the password")
    browser.see("<b>zoe</b> has a new password.")
    browser.wait(lambda: scram(line, "<b>zoe</b>") == {"SCRAM-SHA-256": 8192, "SCRAM-SHA-512": 8192}, "what was set")
    browser.click("Remove …")
    browser.fill("To remove the user, type <b>zoe</b>", "<b>zoe</b>")
    browser.click("Remove the user")
    browser.see("no longer let in by SCRAM-SHA-256 and SCRAM-SHA-512")
    assert scram(line, "<b>zoe</b>") == {}


def test_what_somebody_else_changed_meanwhile_keeps_its_password(program: Program, line: Line) -> None:
    fields = {
        "mark": program.mark("/users/new"),
        "step": "apply",
        "user": "bohdan",
        "mechanism": "SCRAM-SHA-256",
        "iterations": "4096",
        "was": "SCRAM-SHA-256=5000",
        "password": "x",
        "again": "x",
    }
    answer = program.post("/users/new", fields)
    assert answer.status == 409
    assert "somebody else" in answer.text
    assert scram(line, "bohdan") == {}
    assert program.get("/users/remove?user=nobody").status == 404


# ---------------------------------------------------------------------------------------------------------------- rules


def test_rules_are_added_after_they_were_shown(browser: Browser, admin: KafkaAdminClient, rules: None) -> None:
    browser.open("/acls/new", "New rule")
    browser.fill("Who", "jan, User:eva")
    browser.fill("Name", "orders.")
    browser.fill("Whose name", "begins with")
    browser.fill("read", "on")
    browser.fill("describe-configs", "on")
    browser.click("Show what would change")
    browser.heading("This would be new")
    browser.see("User:jan", "User:eva", "orders.*", "These are the first rules about it")
    assert kept(admin) == set()
    browser.click("Add 4 rules")
    browser.see("4 rules added.")
    assert kept(admin) == {
        f"User:{who} * ALLOW {what} PREFIXED orders." for who in ("jan", "eva") for what in ("READ", "DESCRIBE_CONFIGS")
    }
    browser.fill("Filter rules", "eva")
    browser.see_gone("User:jan")
    browser.click("Remove these 2 …")
    browser.heading("This would go")
    browser.see("no rule allows it then")
    browser.click("Remove 2 rules")
    browser.see("2 rules removed.")
    assert {each.partition(" ")[0] for each in kept(admin)} == {"User:jan"}


def test_all_that_a_consumer_needs(browser: Browser, admin: KafkaAdminClient, rules: None) -> None:
    browser.open("/acls/new", "New rule")
    browser.fill("Who", "jan")
    browser.fill("Name", "orders")
    browser.fill("To do what", "all that a consumer needs")
    browser.click("Show what would change")
    browser.see("Say in which group it consumes")
    browser.fill("Group of the consumer", "billing")
    browser.click("Show what would change")
    browser.click("Add 3 rules")
    browser.see("3 rules added.")
    assert kept(admin) == {
        "User:jan * ALLOW READ LITERAL orders",
        "User:jan * ALLOW DESCRIBE LITERAL orders",
        "User:jan * ALLOW READ LITERAL billing",
    }


def test_a_rule_is_changed(browser: Browser, admin: KafkaAdminClient, rules: None) -> None:
    admin.create_acls([rule("User:jan", ACLOperation.READ, "orders")])
    browser.open("/acls", "Access rules")
    browser.click("Change …")
    browser.heading("Change rule")
    assert browser.field("Who").get_attribute("value") == "User:jan"
    browser.fill("write", "on")
    browser.fill("read", "off")
    browser.fill("From", "10.0.0.7")
    browser.click("Show what would change")
    browser.heading("This would change")
    browser.see("goes", "new")
    browser.click("Change the rule")
    browser.see("The rule was changed.", "from 10.0.0.7")
    assert kept(admin) == {"User:jan 10.0.0.7 ALLOW WRITE LITERAL orders"}


def test_may_somebody_do_something_and_by_which_rule(browser: Browser, admin: KafkaAdminClient, rules: None) -> None:
    admin.create_acls(
        [
            rule("User:jan", ACLOperation.READ, "orders", prefixed=True),
            rule("User:*", ACLOperation.WRITE, "orders-2", deny=True),
            rule("User:jan", ACLOperation.ALL, "orders-2"),
        ]
    )
    browser.open("/acls/may", "Who may do what")
    browser.fill("Super users", "User:root")
    browser.fill("Who", "jan")
    browser.fill("Called", "orders-1")
    browser.click("May it be done?")
    browser.see(
        "User:jan may read topic orders-1", "This rule decides:", "User:jan may read topic 'orders*'", "describe"
    )
    browser.fill("Does", "write")
    browser.click("May it be done?")
    browser.see("User:jan may not write topic orders-1", "No rule allows it.")
    browser.fill("Called", "orders-2")
    browser.click("May it be done?")
    browser.see("User:jan may not write topic orders-2", "User:* may not write topic 'orders-2'", "decides")
    browser.fill("Who", "root")
    browser.click("May it be done?")
    browser.see("User:root may write topic orders-2", "A super user may do everything.")
    browser.fill("Does", "cluster-action")
    browser.click("May it be done?")
    browser.see("Nobody does cluster-action to a topic")


def test_who_is_a_super_user_is_what_our_brokers_are_set_to(program: Program, cluster: Cluster) -> None:
    if type(cluster) is not Cluster:
        pytest.skip("Apache Kafka does not tell the value of super.users, whose kind it does not know")
    assert 'value="User:ANONYMOUS;User:root"' in program.get("/acls/may").text
    answer = program.get("/acls/may?" + urlencode({"principal": "root", "name": "x"}))
    assert "A super user may do everything" in answer.text


@pytest.mark.parametrize(
    "rules", ["[", '[["a"]]', "[[2,1,3,4,5,6,3]]", "{}", "[" * 5000, '[[99,"x",3,"User:a","*",3,3]]']
)
def test_nothing_but_rules_is_taken_for_rules(program: Program, admin: KafkaAdminClient, rules: str) -> None:
    mark = program.mark("/acls/new")
    for place in ("/acls/new", "/acls/remove"):
        answer = program.post(place, {"mark": mark, "step": "apply", "rules": rules})
        assert answer.status in (400, 409, 503), answer.text
        assert "did not expect" not in answer.text
    assert program.get("/acls/remove?" + urlencode({"rule": rules})).status in (400, 404)
    assert kept(admin) == set()


def test_a_rule_that_went_meanwhile_is_not_changed(program: Program, admin: KafkaAdminClient) -> None:
    old = json.dumps([2, "orders", 3, "User:jan", "*", 3, 3])
    new = json.dumps([[2, "orders", 3, "User:jan", "*", 4, 3]])
    place = "/acls/new?" + urlencode({"rule": old})
    answer = program.post(place, {"mark": program.mark("/acls/new"), "step": "apply", "rules": new})
    assert answer.status == 409
    assert "removed by somebody else" in answer.text
    assert kept(admin) == set()


# --------------------------------------------------------------------------------------------------------------- quotas


def limits(line: Line) -> dict[str, dict[str, float]]:
    return {
        ",".join(f"{kind}={name}" for kind, name in sorted(each.entity.items())): dict(each.values)
        for each in line.run(describe_client_quotas())
    }


def test_quotas_of_a_user_and_any_client(browser: Browser, line: Line) -> None:
    browser.open("/quotas", "Quotas")
    browser.see("Nobody is limited")
    browser.click("New quota")
    browser.fill("User", "jan <i>")
    browser.fill("Client id", "<default>")
    browser.click("Go on")
    browser.heading("Quotas of user jan <i>, all other clients")
    browser.fill("producer_byte_rate", "1,048,576")
    browser.fill("request_percentage", "12.5")
    browser.click("Show what would change")
    browser.heading("This would change")
    browser.see("none", "1.0 MiB/s", "12.5 %")
    assert limits(line) == {}
    browser.click("Change 2 quotas")
    browser.see("2 quotas of user jan <i>, all other clients changed.", "any other", "1.0 MiB/s")
    place = "client-id=None,user=jan <i>"
    assert limits(line) == {place: {"producer_byte_rate": 1048576.0, "request_percentage": 12.5}}
    browser.click("Change …")
    assert browser.field("request_percentage").get_attribute("value") == "12.5"
    browser.fill("producer_byte_rate", "")
    browser.click("Show what would change")
    browser.see("none of its own")
    browser.click("Change 1 quota")
    browser.see_gone("1.0 MiB/s")
    assert limits(line) == {place: {"request_percentage": 12.5}}


def test_what_the_cluster_refuses_limits_nobody(browser: Browser, line: Line) -> None:
    browser.open("/quotas/edit?user=jan", "Quotas of user jan")
    browser.fill("producer_byte_rate", "1.5")
    browser.click("Show what would change")
    browser.one("//main//*[@role='alert']")  # each kind of broker has its own words for it
    browser.fill("producer_byte_rate", "-1")
    browser.click("Show what would change")
    browser.see("must be greater than 0")
    browser.fill("producer_byte_rate", "nan")
    browser.click("Show what would change")
    browser.see("must be greater than 0")
    browser.open("/quotas/edit?ip=10.0.0.7", "Quotas of address 10.0.0.7")
    browser.see("connection_creation_rate")
    assert "producer_byte_rate" not in browser.text
    browser.open("/quotas/edit?ip=10.0.0.7&user=jan")
    browser.see("A quota for an address is for no user or client")
    assert limits(line) == {}


def test_a_quota_that_somebody_else_changed_stays(program: Program, line: Line) -> None:
    line.run(alter_client_quotas([QuotaChange({"user": "jan"}, {"consumer_byte_rate": 5.0})]))
    fields = {"step": "apply", "set:consumer_byte_rate": "7", "was:consumer_byte_rate": ""}
    answer = program.post("/quotas/edit?user=jan", {"mark": program.mark("/quotas/edit?user=jan"), **fields})
    assert answer.status == 409
    assert limits(line) == {"user=jan": {"consumer_byte_rate": 5.0}}


# --------------------------------------------------------------------------------------- where logins and rules decide


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A node that lets nobody in without a login; where it is, and where its files are."""
    data = tmp_path_factory.mktemp("secured")
    words = ["cluster", "start", "--nodes", "1", "--secure", "--port", "0", "--data", str(data)]
    with subprocess.Popen([sys.executable, "-m", "moldau", *words], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            ready = process.stdout.readline().split()
            assert ready, "the node did not start"
            yield ready[1], data / "security"
        finally:
            process.terminate()


def moldau(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "moldau", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tokens_are_shown_without_what_makes_them_valid(chromium: Browser, secured: tuple[str, Path]) -> None:
    bootstrap, files = secured
    admin = ("--bootstrap", bootstrap, "--config", str(files / "admin.properties"))
    token = json.loads(moldau("tokens", "create", "--owner", "alice", "--renewer", "jan", "--json", *admin))
    with ConsoleProcess(bootstrap, "--config", str(files / "admin.properties")) as console:
        chromium.base = console.address
        chromium.open("/tokens", "Delegation tokens")
        chromium.see(token["id"], "User:alice", "asked for by User:admin", "User:jan", "in 24 h")
        assert token["hmac"] not in chromium.driver.page_source
        chromium.open("/users", "Users")
        chromium.see("admin", "alice")
    assert chromium.complaints() == []


def test_who_may_not_is_told_so(secured: tuple[str, Path]) -> None:
    bootstrap, files = secured
    with ConsoleProcess(bootstrap, "--config", str(files / "alice.properties")) as console:
        program = Program(console.address)
        for place, words in (("/users", "Users cannot be seen"), ("/acls", "Rules cannot be seen"),
                             ("/quotas", "Quotas cannot be seen")):  # fmt: skip
            answer = program.get(place)
            assert (answer.status, words in answer.text) == (200, True), answer.text
            assert "New " not in answer.text.partition("<main")[2]


def test_where_nobody_logs_in_there_are_no_tokens(program: Program) -> None:
    assert "No token" in program.get("/tokens").text


def test_where_nobody_keeps_rules(program: Program) -> None:
    with Cluster() as cluster, ConsoleProcess(cluster.bootstrap_servers) as console:
        alone = Program(console.address)
        assert "Nobody keeps rules here" in alone.get("/acls").text
        assert "has no authorizer" in alone.get("/acls/may?principal=jan&name=x").text
        assert alone.post("/acls/remove", {"mark": alone.mark(), "rules": "[]"}).status == 400
