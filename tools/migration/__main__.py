"""Writes the table into docs/clients/migrating.md; asks a node of its own for what clients answer and do."""

from __future__ import annotations

import sys

from tools.migration.table import PAGE, asked, chapters, render, unexplained, written

from moldau.testing import Cluster


def main() -> int:
    with Cluster() as cluster:
        parts = {**chapters(), **asked(cluster.bootstrap_servers)}
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), render(parts)), encoding="utf-8")
    open_ends = [row for rows in parts.values() for row in unexplained(rows)]
    for row in open_ends:
        print(f"without a reason: {row.theirs}   {row.ours}", file=sys.stderr)
    print(f"{PAGE.name}: {sum(map(len, parts.values()))} rows")
    return 1 if open_ends else 0


if __name__ == "__main__":
    sys.exit(main())
