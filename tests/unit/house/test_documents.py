"""The pages speak of what is there: rooms, targets, packages, and files they link to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_every_room_is_on_the_map() -> None:
    rooms = {path.stem for path in (ROOT / "src" / "moldau").iterdir() if path.is_dir() or path.suffix == ".py"}
    rooms -= {"__init__", "__main__", "__pycache__"}
    named = set(re.findall(r"`(\w+)/?`", page("ARCHITECTURE.md").split("## The rooms")[1].split("## ")[0]))
    assert sorted(rooms - named) == []


def test_every_target_is_explained_and_no_other() -> None:
    assert sorted(targets() - {"help"} - set(re.findall(r"make ([a-z-]+)", page("DEVELOPING.md")))) == []
    for path in PAGES:
        named = set(re.findall(r"`make ([a-z-]+)", path.read_text(encoding="utf-8")))
        assert sorted(named - targets()) == [], path.name


def test_every_package_has_a_reason() -> None:
    wanted = {
        match[1].lower()
        for path in (ROOT / "requirements").glob("*.in")
        for line in path.read_text(encoding="utf-8").splitlines()
        if (match := re.match(r"([A-Za-z][\w-]*)", line))
    }
    words = set(re.findall(r"[a-z0-9][\w-]*", page("DEPENDENCIES.md").lower()))
    assert sorted(wanted - words) == []


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in PAGES])
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_pictures_are_there_small_and_shown() -> None:
    shown = set()
    for path in PAGES:
        for target in re.findall(r"(?:src|srcset)=\"([^\"]+)\"", path.read_text(encoding="utf-8")):
            assert (path.parent / target).stat().st_size < 120 * 1024, target
            shown.add((path.parent / target).resolve())
    assert sorted(set((ROOT / "docs" / "operating" / "pictures").iterdir()) - shown) == []
