"""The table in docs/clients/migrating.md: every row has a yes or a reason, and the page says what is so today."""

from __future__ import annotations

import pytest
from tools.migration.names import Row
from tools.migration.reasons import REASONS
from tools.migration.table import PAGE, asked, chapters, render, unexplained, written

from moldau.testing import Cluster

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Row]]:
    with Cluster() as cluster:
        return {**chapters(), **asked(cluster.bootstrap_servers)}


def test_every_row_has_a_yes_or_a_reason(parts: dict[str, list[Row]]) -> None:
    assert [row for rows in parts.values() for row in unexplained(rows)] == []


def test_the_page_is_up_to_date(parts: dict[str, list[Row]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page, render(parts)), "run `make generate`"


def test_no_reason_outlives_its_difference(parts: dict[str, list[Row]]) -> None:
    given = {row.verdict for rows in parts.values() for row in rows}
    assert [key for key, reason in REASONS.items() if reason not in given] == []
