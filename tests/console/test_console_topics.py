"""The overview, brokers, the quorum, and topics from their making to their end."""

from __future__ import annotations

from chromium import Browser
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from moldau import KafkaAdminClient, KafkaProducer
from moldau.admin import NewTopic


def test_the_first_page_says_that_all_is_well(browser: Browser) -> None:
    browser.open("/", "Overview")
    browser.see("All is well", "brokers", "records written")
    assert "connected" in browser.driver.find_element(By.ID, "state").text


def test_brokers_and_their_disks(browser: Browser) -> None:
    browser.open("/brokers", "Brokers")
    browser.see("Broker 1", "Broker 2", "Broker 3", "up")
    browser.click("Broker 2")
    browser.heading("Broker 2")
    browser.see("Log directories", "in use")


def test_the_quorum_has_a_leader(browser: Browser) -> None:
    browser.open("/quorum", "Quorum")
    browser.see("leader", "Voters", "Node 3")


def test_a_topic_from_its_making_to_its_end(browser: Browser, producer: KafkaProducer) -> None:
    browser.open("/topics", "Topics")
    browser.click("New topic")
    browser.fill("Name", "no such name!")
    browser.click("Create topic")
    browser.see("no such name!")  # refused in the broker's words, and what was typed is still there
    browser.fill("Name", "made-here")
    browser.fill("Partitions", "2")
    browser.fill("Settings", "retention.ms=3600000")
    browser.click("Create topic")
    browser.heading("made-here")
    browser.see("made-here was created.", "2 partitions")

    for value in (b"a", b"b", b"c"):
        producer.send("made-here", value, partition=0)
    producer.flush()
    browser.wait(lambda: _cell(browser, "0", 6) == "3", "three records in partition 0, without loading anew")

    curves = "//main//*[name()='svg' and @class='curve']"
    browser.wait(
        lambda: len(browser.driver.find_elements(By.XPATH, curves)) == 2, "what was written, and the size, over time"
    )

    browser.click("Change")
    browser.fill("Partitions in all", "4")
    browser.click("Add partitions")
    browser.see("made-here has 4 partitions now.")

    browser.open("/topics/made-here/delete-records")
    browser.fill("To delete records, type made-here", "something else")
    browser.click("Delete records")
    browser.see("Nothing was done: to confirm, type made-here")
    browser.open("/topics/made-here/delete-records")
    browser.fill("To delete records, type made-here", "made-here")
    browser.click("Delete records")
    browser.see("Records were deleted from 4 partitions.")
    browser.wait(lambda: _cell(browser, "0", 6) == "0", "no record in partition 0")

    browser.open("/topics/made-here/delete")
    browser.fill("To delete it, type made-here", "made-here")
    browser.click("Delete the topic")
    browser.see("made-here was deleted.")
    browser.wait(lambda: not browser.driver.find_elements(By.LINK_TEXT, "made-here"), "the topic to be gone")


def _cell(browser: Browser, partition: str, column: int) -> str:
    return browser.one(f"//main//tr[td[1]='{partition}']/td[{column}]").text


def test_topics_are_filtered_sorted_and_paged_by_keys(browser: Browser, admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic(f"many-{number:03}", 1, 1) for number in range(60)])
    browser.open("/topics", "Topics")
    browser.see("many-000", "Page 1 of 2")
    browser.press("n")
    browser.see("Page 2 of 2", "many-059")
    browser.press("/")
    browser.press("many-03")
    browser.see("10 topics", "many-039")
    browser.see_gone("many-059")
    browser.press(Keys.ESCAPE, "j", "j")
    assert browser.driver.find_element(By.CSS_SELECTOR, "tr[aria-selected=true]").text.startswith("many-031")
    browser.press(Keys.ENTER)
    browser.heading("many-031")
    browser.press("g", "t")
    browser.heading("Topics")
    browser.press("?")
    browser.one("//dialog[@open]//h2[.='Keys']")
    browser.press(Keys.ESCAPE)


def test_light_and_dark(browser: Browser) -> None:
    browser.open("/", "Overview")
    light = browser.run("return getComputedStyle(document.body).backgroundColor")
    browser.press("d")
    dark = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert light != dark
    browser.open("/topics", "Topics")
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == dark
    browser.press("d")
    browser.driver.delete_cookie("moldau-theme")
