"""The pages, one file per noun, and the table of their addresses."""

from __future__ import annotations

from typing import Final, NamedTuple

from moldau.console.pages import brokers, login, overview, topic_changes, topics
from moldau.console.visits import Handler


class Page(NamedTuple):
    path: str
    handler: Handler
    # Also for those who have not logged in.
    outside: bool = False


PAGES: Final = (
    Page("/", overview.overview),
    Page("/login", login.login, outside=True),
    Page("/logout", login.logout, outside=True),
    Page("/brokers", brokers.brokers),
    Page("/brokers/{id:int}", brokers.broker),
    Page("/quorum", brokers.quorum),
    Page("/topics", topics.topics),
    Page("/topics/new", topic_changes.create),
    Page("/topics/{name}", topics.topic),
    Page("/topics/{name}/partitions", topic_changes.grow),
    Page("/topics/{name}/delete-records", topic_changes.delete_records),
    Page("/topics/{name}/delete", topic_changes.delete),
)
