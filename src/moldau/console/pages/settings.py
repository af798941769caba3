"""Settings of topics, brokers, groups and whatever else has some: where each value comes from; changed with a preview.

A form has a field for each setting that can be changed: empty means not set here, so what stands behind it holds. What
differs from before becomes one incremental change, checked by the cluster before it is shown, and made when confirmed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from starlette.responses import Response

from moldau.client.admin.configs import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ConfigValue,
    ResourceType,
    alter_configs,
    describe_configs,
    list_config_resources,
)
from moldau.console.pages.topics import known_topic
from moldau.console.visits import Refused, Visit, address
from moldau.errors import MoldauError
from moldau.quantities import counted

_KINDS: Final = {
    "topic": ResourceType.TOPIC,
    "broker": ResourceType.BROKER,
    "loggers": ResourceType.BROKER_LOGGER,
    "group": ResourceType.GROUP,
    "metrics": ResourceType.CLIENT_METRICS,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
_LEVELS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_CHANGE_SECONDS: Final = 15.0
_ALL_BROKERS: Final = ConfigResource(ResourceType.BROKER, "")


class Behind(NamedTuple):
    """What holds where a setting is not set. The broker may know it by another name, with another unit."""

    text: str
    source: ConfigSource


class Row(NamedTuple):
    """`own` is what is set here, not somewhere behind; `changed` whether anything but the default holds."""

    setting: ConfigValue
    own: str | None
    behind: Behind | None
    changed: bool


class Change(NamedTuple):
    name: str
    before: str
    origin: str
    after: str
    kind: str
    request: ConfigChange


class Resource(NamedTuple):
    """Whose settings: how people call it, and where its pages are."""

    key: ConfigResource
    title: str
    place: str

    @property
    def edit(self) -> str:
        return address("/settings/edit", of=_NAMES[self.key.type], name=self.key.name)


def index(visit: Visit) -> Response:
    """What has settings, beside topics."""
    try:
        named = visit.links.remembered(
            ("config-resources",),
            5.0,
            lambda: visit.links.ask(list_config_resources([ResourceType.GROUP, ResourceType.CLIENT_METRICS])),
        )
        problem = ""
    except MoldauError as error:
        named, problem = [], str(error)
    return visit.page(
        "settings_index.html",
        "Settings",
        brokers=visit.snapshot.brokers,
        groups=sorted(each.name for each in named if each.type is ResourceType.GROUP),
        metrics=sorted(each.name for each in named if each.type is ResourceType.CLIENT_METRICS),
        problem=problem,
    )


def settings(visit: Visit) -> Response:
    return _page(visit, _resource(visit, visit.query("of"), visit.query("name")))


def of_topic(visit: Visit) -> Response:
    topic = known_topic(visit)
    return _page(visit, _resource(visit, "topic", topic.name))


def _page(visit: Visit, resource: Resource) -> Response:
    rows = _rows(visit, resource)
    everything = visit.query("all") == "1"
    word = visit.query("q").strip()[:200].lower()
    shown = [row for row in rows if (everything or word or row.changed) and word in row.setting.name]
    return visit.page(
        "settings.html",
        resource.title,
        resource=resource,
        topic=visit.snapshot.figures.get(resource.key.name) if resource.key.type is ResourceType.TOPIC else None,
        tab="settings",
        rows=shown,
        total=len(rows),
        everything=everything,
        word=word,
    )


def edit(visit: Visit) -> Response:
    """The form, what it would change, and the change."""
    resource = _resource(visit, visit.query("of"), visit.query("name"))
    rows = [row for row in _rows(visit, resource) if not row.setting.read_only]
    changes, problem = [], ""
    if visit.posted:
        changes = _changes(visit, rows)
        try:
            if not changes:
                raise Refused("Nothing differs from what is set now.")
            _alter(visit, resource, changes, validate_only=visit.form("step") != "apply")
        except MoldauError as error:
            problem = str(error)
        else:
            if visit.form("step") == "apply":
                said = f"{counted(len(changes), 'setting')} of {resource.title} changed."
                return visit.done(resource.place, said)
    return visit.page(
        "settings_edit.html",
        f"Change settings of {resource.title}",
        409 if problem else 200,
        resource=resource,
        rows=rows,
        given=visit.fields,
        levels=_LEVELS,
        changes=[] if problem else changes,
        problem=problem,
    )


def _changes(visit: Visit, rows: list[Row]) -> list[Change]:
    """What the form says otherwise than what is set now; Refused if that is no longer what the form began with."""
    changes = []
    for row in rows:
        setting = row.setting
        given = visit.form(f"set:{setting.name}").replace("\r\n", "\n").strip()
        unset = visit.form(f"unset:{setting.name}") == "1"
        if f"set:{setting.name}" not in visit.fields or (setting.sensitive and not given and not unset):
            continue
        own = "" if row.own is None else row.own
        if visit.form(f"was:{setting.name}") != own:
            raise Refused(f"{setting.name} was changed by somebody else meanwhile; look at it again.", 409)
        if given == own and not unset:
            continue
        before = "(hidden)" if setting.sensitive else setting.value or ""
        if given:
            request = ConfigChange(setting.name, ConfigOperation.SET, given)
            after, kind = ("(hidden)" if setting.sensitive else given), "set"
        else:
            request = ConfigChange(setting.name, ConfigOperation.DELETE)
            after = row.behind.text if row.behind else "its default"
            kind = f"not set, {row.behind.source.text} holds" if row.behind else "not set"
        changes.append(Change(setting.name, before, setting.source.text, after, kind, request))
    return changes


def _alter(visit: Visit, resource: Resource, changes: list[Change], *, validate_only: bool) -> None:
    wanted = {resource.key: [change.request for change in changes]}
    outcomes = visit.links.ask(alter_configs(wanted, validate_only=validate_only), _CHANGE_SECONDS)
    for error in outcomes.values():
        if error is not None:
            raise error


def _resource(visit: Visit, kind: str, name: str) -> Resource:
    if kind not in _KINDS:
        raise Refused("There are settings of topics, brokers, loggers, groups and metrics of clients.", 404)
    key = ConfigResource(_KINDS[kind], name)
    if key.type is ResourceType.TOPIC:
        return Resource(key, name, f"/topics/{name}/settings")
    place = address("/settings/of", of=kind, name=name)
    if key.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        known = {str(each.broker.id): each.broker for each in visit.snapshot.brokers}
        if key == _ALL_BROKERS:
            return Resource(key, "all brokers", place)
        if name not in known:
            raise Refused(f"There is no broker {name}.", 404)
        if known[name].fenced:
            raise Refused(f"Broker {name} is away, and only it knows its settings.", 503)
        what = f"broker {name}" if key.type is ResourceType.BROKER else f"the loggers of broker {name}"
        return Resource(key, what, place)
    if not name:
        raise Refused("Say whose settings.", 404)
    return Resource(key, f"group {name}" if key.type is ResourceType.GROUP else f"metrics {name}", place)


_OWN: Final = {
    ResourceType.TOPIC: ConfigSource.TOPIC,
    ResourceType.BROKER: ConfigSource.BROKER,
    ResourceType.BROKER_LOGGER: ConfigSource.BROKER_LOGGER,
    ResourceType.GROUP: ConfigSource.GROUP,
    ResourceType.CLIENT_METRICS: ConfigSource.CLIENT_METRICS,
}


def _rows(visit: Visit, resource: Resource) -> list[Row]:
    found = visit.links.ask(describe_configs(resource.key, documentation=True))
    if resource.key != _ALL_BROKERS:
        return [_row(each, _OWN[resource.key.type]) for each in found]
    # Told are only those that are set; what could be is what any broker has that is not fixed.
    here = {each.name for each in found}
    alive = next((each.broker.id for each in visit.snapshot.brokers if not each.broker.fenced), None)
    if alive is not None:
        one = ConfigResource(ResourceType.BROKER, str(alive))
        others = visit.links.ask(describe_configs(one, documentation=True))
        found += [each for each in others if each.name not in here and not each.read_only]
    return sorted((_row(each, ConfigSource.ALL_BROKERS) for each in found), key=lambda row: row.setting.name)


def _row(setting: ConfigValue, own: ConfigSource) -> Row:
    if setting.source is not own:
        default = [value for _, value, source in setting.synonyms if source is ConfigSource.DEFAULT]
        changed = not setting.is_default and setting.value not in default
        return Row(setting, None, Behind(setting.value or "", setting.source), changed)
    behind = [
        Behind((value or "") if _unit(name) == _unit(setting.name) else f"{name}={value}", source)
        for name, value, source in setting.synonyms
        if source is not own
    ]
    return Row(setting, setting.value or "", behind[0] if behind else None, changed=True)


def _unit(name: str) -> str:
    return name.rpartition(".")[2]
