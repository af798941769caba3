"""`make screenshots`: starts the shop and the console, and takes a picture of each page, as small as is still sharp."""

from __future__ import annotations

import argparse
import base64
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from chromium import Browser
from console_process import ConsoleProcess

from screenshots.shop import Shop


class Picture(NamedTuple):
    name: str
    path: str
    heading: str
    width: int = 1280
    height: int = 860
    dark: bool = False
    # What is done on the page before, by label and value; then a button.
    filled: tuple[tuple[str, str], ...] = ()
    pressed: str = ""
    # The heading that comes of it, and what has to be read before.
    then: str = ""
    sees: tuple[str, ...] = ()


PHONE = {"width": 390, "height": 844}
PICTURES = (
    Picture("overview", "/", "Overview", sees=("Busiest topics",)),
    Picture("overview-dark", "/", "Overview", dark=True, sees=("Busiest topics",)),
    Picture("records-dark", "/topics/orders/records?q=Praha", "orders", dark=True, sees=("looked at",)),
    Picture("group", "/group?name=recommendations", "recommendations", sees=("It is",)),
    Picture("move", "/group/move?name=search-index", "Move offsets", height=690, filled=(("Place", "latest"),),
            pressed="Show what would move", then="This would move"),
    Picture("settings-dark", "/settings/edit?of=topic&name=orders", "Change settings", height=690, dark=True,
            filled=(("retention.ms", "1209600000"), ("compression.type", "lz4"), ("segment.bytes", "67108864")),
            pressed="Show what would change", then="This would change"),
    Picture("explain", "/explain", "Explain", height=690, sees=("The quorum", "search-index", "invoices-3")),
    Picture("pipeline-dark", "/pipelines", "Pipelines", dark=True, pressed="revenue", then="revenue"),
    Picture("rules", "/acls", "Access rules", height=690, sees=("billing",)),
    Picture("phone", "/", "Overview", **PHONE, sees=("Busiest topics",)),
    Picture("phone-dark", "/group?name=recommendations", "recommendations", **PHONE, dark=True, sees=("It is",)),
)  # fmt: skip


def take(browser: Browser, picture: Picture, into: Path, kind: str, scale: float) -> Path:
    browser.size(picture.width, picture.height, dark=picture.dark, scale=scale)
    browser.open(picture.path, picture.heading)
    for label, value in picture.filled:
        browser.fill(label, value)
    if picture.pressed:
        browser.click(picture.pressed)
        browser.heading(picture.then)
    browser.see(*picture.sees)
    options = {"format": kind} if kind == "png" else {"format": kind, "quality": 78}
    time.sleep(0.4)  # for letters and shapes to be drawn
    data = base64.b64decode(browser.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])
    path = into / f"{picture.name}.{kind}"
    path.write_bytes(data)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m screenshots")
    parser.add_argument("names", nargs="*", help="some pictures (default: all)")
    parser.add_argument("--out", type=Path, default=Path("docs/operating/pictures"))
    parser.add_argument("--kind", choices=("webp", "png"), default="webp")
    parser.add_argument("--seconds", type=float, default=75.0, help="how long the curves are")
    parser.add_argument("--scale", type=float, default=1.5, help="pixels of the picture for each of the page")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="moldau-pictures-") as place,
        Shop(Path(place)) as shop,
        ConsoleProcess(shop.bootstrap, "--pipelines", str(shop.checkpoints)) as console,
        closing(Browser(Path(place) / "chromium")) as browser,
    ):
        browser.base = console.address
        browser.open("/", "Overview")
        time.sleep(given.seconds)
        for picture in PICTURES:
            if not given.names or picture.name in given.names:
                path = take(browser, picture, given.out, given.kind, given.scale)
                print(f"{path}  {path.stat().st_size / 1024:.0f} KiB", flush=True)


if __name__ == "__main__":
    main()
