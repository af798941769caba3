"""A real browser on the console's pages, by what a person sees: words, labels, buttons, keys."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

PATIENCE = 60.0
# What ChromeDriver sometimes says in the place of a stale element.
_REPLACED = "does not belong to the document"
MISSING = "chromium and chromedriver are not installed; on Debian: apt-get install chromium chromium-driver"


def require_chromium() -> tuple[str, str]:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip(MISSING)
    return browser, driver


class Browser:
    """`base` is where the console is. Every wait has a limit; what is not seen by then fails with what was seen."""

    def __init__(self, directory: Path) -> None:
        browser, driver = require_chromium()
        options = Options()
        options.binary_location = browser
        for argument in (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--no-first-run", "--disable-extensions", "--disable-background-networking", "--force-color-profile=srgb",
            f"--user-data-dir={directory}",
        ):  # fmt: skip
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(driver))
        self.driver.set_page_load_timeout(PATIENCE)
        self.driver.set_script_timeout(PATIENCE)
        self.base = ""
        self.size(1280, 900)

    def close(self) -> None:
        self.driver.quit()

    def size(self, width: int, height: int, *, dark: bool = False, scale: float = 1) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})

    # ---------------------------------------------------------------------------------------------------------- going

    def open(self, path: str, heading: str | None = None) -> None:
        self.driver.get(self.base + path)
        if heading is not None:
            self.heading(heading)

    def heading(self, text: str) -> None:
        self.wait(lambda: self.driver.find_element(By.TAG_NAME, "h1").text == text, f"the heading {text!r}")

    def click(self, text: str, within: str = "main") -> None:
        """A link or a button by its words."""
        self.one(f"//{within}//*[self::a or self::button][normalize-space(.)={_quoted(text)}]").click()

    def fill(self, label: str, value: str) -> None:
        field = self.field(label)
        if field.tag_name == "select":
            Select(field).select_by_visible_text(value)
            return
        if field.get_attribute("type") in ("checkbox", "radio"):
            field.click()
            return
        field.clear()
        field.send_keys(value)

    def field(self, label: str) -> WebElement:
        """What a label stands at, as somebody finds it who cannot see."""
        quoted = _quoted(label)
        return self.one(
            f"//main//*[@id=//label[normalize-space(.)={quoted}]/@for or @aria-label={quoted}]"
            f" | //main//label[normalize-space(.)={quoted}]//*[self::input or self::select or self::textarea]"
        )

    def press(self, *keys: str) -> None:
        actions = ActionChains(self.driver)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    # --------------------------------------------------------------------------------------------------------- seeing

    def see(self, *texts: str) -> None:
        for text in texts:
            self.wait(lambda text=text: text in self.text, f"the words {text!r}")  # type: ignore[misc]

    def see_gone(self, text: str) -> None:
        self.wait(lambda: text not in self.text, f"{text!r} to go")

    @property
    def text(self) -> str:
        """What is on the page; one that is replaced while it is read is read again."""
        found: list[str] = []
        self.wait(lambda: found.append(self._text()) or True, "the page")
        return found[-1]

    def _text(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "main").text

    @property
    def path(self) -> str:
        return self.driver.current_url.removeprefix(self.base)

    def one(self, xpath: str) -> WebElement:
        found: list[WebElement] = []

        def look() -> bool:
            found[:] = [each for each in self.driver.find_elements(By.XPATH, xpath) if each.is_displayed()]
            return bool(found)

        self.wait(look, xpath)
        return found[0]

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        def holds(driver: object) -> object:
            try:
                return condition()
            except WebDriverException as error:
                if _REPLACED in str(error.msg):
                    raise StaleElementReferenceException(error.msg) from error
                raise

        try:
            WebDriverWait(self.driver, PATIENCE, 0.05, ignored_exceptions=[StaleElementReferenceException]).until(holds)
        except TimeoutException:
            pytest.fail(f"{what} was not seen at {self.path}; there is:\n{self._text()[:3000]}")

    def complaints(self) -> list[str]:
        """What the browser itself had to say: scripts that failed, content that the policy refused. That a form was
        refused (an answer of 4xx) it says as well, which is no fault."""
        entries = self.driver.get_log("browser")
        return [each["message"] for each in entries if each["level"] == "SEVERE" and each["source"] != "network"]

    def picture(self, path: Path) -> None:
        time.sleep(0.3)  # for letters and shapes to be drawn
        self.driver.save_screenshot(str(path))


def _quoted(text: str) -> str:
    return f'"{text}"'
