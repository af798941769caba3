"""The pages, one file per noun, and the table of their addresses."""

from __future__ import annotations

from typing import Final, NamedTuple

from moldau.console.pages import (
    acl_changes,
    acls,
    brokers,
    explain,
    groups,
    login,
    overview,
    pipelines,
    quotas,
    records,
    resets,
    settings,
    share_groups,
    tokens,
    topic_changes,
    topics,
    transactions,
    users,
    writing,
)
from moldau.console.visits import Handler


class Page(NamedTuple):
    path: str
    handler: Handler
    # Also for those who have not logged in.
    outside: bool = False
    # Its form changes nothing in the cluster, and is taken in read-only mode as well.
    harmless: bool = False


PAGES: Final = (
    Page("/", overview.overview),
    Page("/login", login.login, outside=True, harmless=True),
    Page("/logout", login.logout, outside=True, harmless=True),
    Page("/brokers", brokers.brokers),
    Page("/brokers/{id:int}", brokers.broker),
    Page("/quorum", brokers.quorum),
    Page("/groups", groups.groups),
    Page("/group", groups.group),
    Page("/group/move", resets.reset),
    Page("/group/delete", groups.delete),
    Page("/share-groups", share_groups.share_groups),
    Page("/share-group", share_groups.share_group),
    Page("/transactions", transactions.transactions),
    Page("/transaction", transactions.transaction),
    Page("/transaction/hanging", transactions.abort_hanging),
    Page("/pipelines", pipelines.pipelines),
    Page("/pipeline", pipelines.pipeline),
    Page("/explain", explain.explain),
    Page("/settings", settings.index),
    Page("/settings/of", settings.settings),
    Page("/settings/edit", settings.edit),
    Page("/users", users.users),
    Page("/users/new", users.change),
    Page("/users/remove", users.remove),
    Page("/acls", acls.acls),
    Page("/acls/may", acls.may),
    Page("/acls/new", acl_changes.create),
    Page("/acls/remove", acl_changes.remove),
    Page("/quotas", quotas.quotas),
    Page("/quotas/edit", quotas.edit),
    Page("/tokens", tokens.tokens),
    Page("/topics", topics.topics),
    Page("/topics/new", topic_changes.create),
    Page("/topics/{name}", topics.topic),
    Page("/topics/{name}/records", records.records),
    Page("/topics/{name}/records/live", records.live),
    Page("/topics/{name}/records/{partition:int}/{offset:int}", records.record),
    Page("/topics/{name}/records/{partition:int}/{offset:int}/value", records.value_file),
    Page("/topics/{name}/records/{partition:int}/{offset:int}/again", writing.again),
    Page("/topics/{name}/settings", settings.of_topic),
    Page("/topics/{name}/schemas", records.schemas, harmless=True),
    Page("/topics/{name}/produce", writing.produce),
    Page("/topics/{name}/partitions", topic_changes.grow),
    Page("/topics/{name}/delete-records", topic_changes.delete_records),
    Page("/topics/{name}/delete", topic_changes.delete),
)
