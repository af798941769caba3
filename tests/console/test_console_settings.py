"""Settings: where they come from, and changes that are shown before they are made."""

from __future__ import annotations

import re

import pytest
from chromium import Browser
from program import Program

from moldau import KafkaAdminClient
from moldau.admin import ConfigResource, ConfigResourceType, NewTopic


@pytest.fixture(scope="module", autouse=True)
def topic(admin: KafkaAdminClient) -> None:
    admin.create_topics(
        [NewTopic("kept", 1, 1, topic_configs={"retention.ms": "3600000", "max.message.bytes": "2000"})]
    )


def of_topic(admin: KafkaAdminClient, name: str) -> str:
    described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "kept")], config_filter="all")
    return str(described["topic"]["kept"][name]["value"])


def test_a_setting_of_a_topic_is_changed_after_it_was_shown(browser: Browser, admin: KafkaAdminClient) -> None:
    browser.open("/topics/kept/settings", "kept")
    browser.see("retention.ms", "3600000", "topic", "1048588 (default)")
    assert "cleanup.policy" not in browser.text
    browser.click("Change settings")
    browser.press("/")
    browser.press("retention.ms")
    browser.see_gone("cleanup.policy")
    browser.fill("retention.ms", "7200000")
    browser.click("Show what would change")
    browser.heading("This would change")
    browser.see("3600000", "7200000")
    assert of_topic(admin, "retention.ms") == "3600000"
    browser.click("Change 1 setting")
    browser.see("1 setting of kept changed.", "7200000")
    assert of_topic(admin, "retention.ms") == "7200000"


def test_an_empty_field_gives_back_what_stands_behind(browser: Browser, admin: KafkaAdminClient) -> None:
    browser.open("/settings/edit?of=topic&name=kept", "Change settings")
    browser.fill("retention.ms", "")
    browser.fill("preallocate", "true")
    browser.fill("max.message.bytes", "")
    browser.click("Show what would change")
    browser.see("1048588 not set, default holds", "its default not set", "preallocate")
    browser.click("Change 3 settings")
    browser.see("3 settings of kept changed.")
    assert (of_topic(admin, "retention.ms"), of_topic(admin, "preallocate")) == ("604800000", "true")


def test_what_the_cluster_refuses_changes_nothing(browser: Browser, admin: KafkaAdminClient) -> None:
    browser.open("/settings/edit?of=topic&name=kept", "Change settings")
    browser.fill("segment.bytes", "many")
    browser.fill("retention.ms", "1000")
    browser.click("Show what would change")
    browser.see("segment.bytes")
    assert browser.driver.find_elements("css selector", ".note.bad")
    assert browser.field("retention.ms").get_attribute("value") == "1000"  # what was typed is still there
    assert of_topic(admin, "retention.ms") != "1000"
    browser.open("/settings/edit?of=topic&name=kept", "Change settings")
    browser.click("Show what would change")
    browser.see("Nothing differs")


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(program: Program, admin: KafkaAdminClient) -> None:
    place = "/settings/edit?of=topic&name=kept"
    fields = {
        "mark": program.mark(place),
        "step": "apply",
        "set:max.message.bytes": "2000000",
        "was:max.message.bytes": "1",
    }
    answer = program.post(place, fields)
    assert answer.status == 409
    assert "changed by somebody else" in answer.text
    assert of_topic(admin, "max.message.bytes") != "3000"


def test_of_a_broker_and_of_all_brokers(browser: Browser) -> None:
    browser.open("/settings", "Settings")
    browser.click("All brokers")
    browser.heading("Settings of all brokers")
    browser.click("Change settings")
    browser.fill("log.cleaner.threads", "2")
    browser.click("Show what would change")
    browser.see("log.cleaner.threads")
    browser.click("Change 1 setting")
    browser.see("1 setting of all brokers changed.", "all brokers")
    browser.open("/brokers/2", "Broker 2")
    browser.click("Settings")
    browser.heading("Settings of broker 2")
    browser.see("log.cleaner.threads")
    browser.fill("Show defaults", "on")
    browser.see("num.network.threads")


def test_the_level_of_a_logger(browser: Browser) -> None:
    browser.open("/settings/of?of=loggers&name=1", "Settings of the loggers of broker 1")
    browser.see("broker logger")
    browser.click("Change settings")
    name = browser.driver.find_element("css selector", "[data-name]").get_attribute("data-name")
    assert name is not None
    browser.fill(name, "DEBUG")
    browser.click("Show what would change")
    browser.click("Change 1 setting")
    browser.see("DEBUG")


@pytest.mark.parametrize("query", ["of=nonsense&name=x", "of=broker&name=99", "of=topic&name=none", "of=group&name="])
def test_what_is_not_there_has_no_settings(program: Program, query: str) -> None:
    assert program.get(f"/settings/of?{query}").status == 404


def test_no_value_of_a_secret_is_on_a_page(program: Program) -> None:
    text = program.get("/settings/edit?of=broker&name=1").text
    secrets = re.findall(r'<input[^>]*type="password"[^>]*>', text)
    assert secrets
    assert all('value=""' in each for each in secrets)
