"""The definition language: what is read from it, and what is wrong with definitions that are refused."""

from __future__ import annotations

import pytest

from message_generator.language import DefinitionError, parse, snake_case
from message_generator.model import Versions

TOPICS = """
# Topics: what there is.
#    3  more of it
api 19 Topics on broker, controller, latest unstable

request 2-7, flexible 5+
    names: [string]?3+
    limit: int32 = 0x7fffffff             2-4, ignorable
    cursor: Cursor? = null                5+, tag 1
        topic: string
        partition: int32                  6+
    # not part of the documentation
    groups: [Group]
    owner: string?                        legacy

struct Group
    id: uuid

response 2-7, flexible 5+
    groups: [Group]
        id: uuid
"""


def test_everything_a_definition_says() -> None:
    [module] = parse(TOPICS, "topics.wire")
    request, response = module.messages
    assert (module.name, module.source) == ("topics", "topics.wire")
    assert (request.name, request.kind, request.api_key) == ("TopicsRequest", "request", 19)
    assert (request.versions, request.flexible) == (Versions(2, 7), Versions(5, 7))
    assert (request.listeners, request.unstable) == (("broker", "controller"), True)
    assert request.about == ("Topics: what there is.", "   3  more of it")
    names, limit, cursor, groups, owner = request.struct.fields
    assert (names.type, names.is_array, names.nullable, names.versions) == (
        "string",
        True,
        Versions(3, 7),
        Versions(2, 7),
    )
    assert (limit.default, limit.versions, limit.ignorable) == ("0x7fffffff", Versions(2, 4), True)
    assert (cursor.default, cursor.nullable, cursor.tag) == ("null", Versions(5, 7), 1)
    assert cursor.struct is not None
    assert [(field.name, field.versions) for field in cursor.struct.fields] == [
        ("topic", Versions(5, 7)),
        ("partition", Versions(6, 7)),
    ]
    assert groups.struct is request.commons[0]
    assert (owner.legacy, owner.nullable) == (True, Versions(2, 7))
    assert [struct.class_name for struct in request.structs()] == ["Cursor", "RequestGroup", "TopicsRequest"]
    assert [struct.class_name for struct in response.structs()] == ["ResponseGroup", "TopicsResponse"]


def test_records_know_their_topic_and_number() -> None:
    text = "# file\ntopic __log\n\n# K: a key.\nkey 3 K 0\n    id: int8\n\nvalue 3 V 0-1, flexible 1+\n    x: int8\n"
    key, value = parse(text, "records.wire")
    assert (key.name, key.messages[0].about) == ("k", ("K: a key.",))
    assert [(m.messages[0].topic, m.messages[0].kind, m.messages[0].api_key) for m in (key, value)] == [
        ("__log", "key", 3),
        ("__log", "value", 3),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "x.wire:1: 'nonsense' is neither an api, a message nor a struct"),
        ("request 0", "x.wire:1: a request takes its name and key from the api above it"),
        ("data 0", "x.wire:1: a data needs a name"),
        ("    a: int8", "x.wire:1: a field stands before any message"),
        ("struct S", "x.wire:1: a struct stands before any message"),
        ("data D 0\n   a: int8", "x.wire:2: indentation is not a multiple of 4"),
        ("data D 0\n        a: int8", "x.wire:2: indented deeper than the line above allows"),
        ("data D 0\n    a: int8\n        b: int8", "x.wire:3: a is not a struct and holds no fields"),
        ("data D 0\n    a int8", "x.wire:2: 'a int8' is not a field"),
        ("data D 0\n    a: int7", "x.wire:2: there is no type int7"),
        ("data D 0\n    a: int8\n    a: int8", "x.wire:3: a appears twice in D"),
        ("data D 0\n    a: int8?", "x.wire:2: a field of type int8 cannot be null"),
        ("data D 0\n    a: string = null", "x.wire:2: a defaults to null but is never nullable"),
        ("data D 0\n    a: string  sometimes", "x.wire:2: 'sometimes' is neither versions"),
        ("data D 0-2\n    a: string  3+", "x.wire:2: versions 3+ do not lie within 0-2"),
        ("data D 0-2\n    a: string  1-5", "x.wire:2: versions 1-5 do not lie within 0-2"),
        ("data D 2-1\n    a: string", "x.wire:1: versions 2-1 do not lie within"),
        ("data D 0\n    a: S", "x.wire: D.a: no struct S"),
        ("data D 0\n    a: S\n        x: int8\n    b: S\n        x: int8", "x.wire: D defines S twice"),
        ("data D 0, flexible 0+\n    a: int8  tag 0\n    b: int8  tag 0", "x.wire: two fields of D have the same tag"),
        ("data D 0-1, flexible 1+\n    a: int8  tag 0", "x.wire: D.a is tagged at inflexible versions"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        parse(text, "x.wire")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        ("LeaderEpoch", "leader_epoch"),
        ("KRaftVersionFeature", "kraft_version_feature"),
        ("Enable2Pc", "enable_2pc"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("topicGroupId", "topic_group_id"),
        ("IsKRaftController", "is_kraft_controller"),
    ],
)
def test_names_in_our_spelling(kafka: str, ours: str) -> None:
    assert snake_case(kafka) == ours
