"""The controller sets and removes quotas, and images and snapshots carry them."""

from __future__ import annotations

from controller_kit import World

from moldau.controller.client_quotas import QuotaChange
from moldau.errors import ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE
from moldau.metadata.snapshot_records import image_records
from moldau.slicing import run_whole

JAN = [("user", "jan")]
ENTITY = frozenset(JAN)


def alter(world: World, *changes: QuotaChange, validate_only: bool = False) -> list[ErrorCode | None]:
    results = world.settle(world.controller.alter_client_quotas(list(changes), validate_only=validate_only))
    return [None if error is None else error.code for error in results]


def test_quotas_are_set_changed_and_removed() -> None:
    world = World()
    assert alter(world, QuotaChange(JAN, {"producer_byte_rate": 5.0, "consumer_byte_rate": 6.0})) == [None]
    assert world.image.client_quotas == {ENTITY: {"producer_byte_rate": 5.0, "consumer_byte_rate": 6.0}}
    assert alter(world, QuotaChange(JAN, {"producer_byte_rate": None, "consumer_byte_rate": 7.0})) == [None]
    assert world.image.client_quotas == {ENTITY: {"consumer_byte_rate": 7.0}}
    assert alter(world, QuotaChange(JAN, {"consumer_byte_rate": None})) == [None]
    assert world.image.client_quotas == {}
    # The controller does not think that it is still there.
    assert alter(world, QuotaChange(JAN, {"consumer_byte_rate": 7.0})) == [None]
    assert world.image.client_quotas == {ENTITY: {"consumer_byte_rate": 7.0}}


def test_one_entity_that_cannot_be_stops_no_other_and_nothing_of_it_is_done() -> None:
    world = World()
    wrong = QuotaChange(JAN, {"producer_byte_rate": 5.0, "nonsense": 1.0})
    fine = QuotaChange([("user", None), ("client-id", "app")], {"request_percentage": 12.5})
    assert alter(world, wrong, fine) == [ErrorCode.INVALID_REQUEST, None]
    assert world.image.client_quotas == {
        frozenset({("user", None), ("client-id", "app")}): {"request_percentage": 12.5}
    }


def test_what_is_only_validated_changes_nothing() -> None:
    world = World()
    assert alter(world, QuotaChange(JAN, {"producer_byte_rate": 5.0}), validate_only=True) == [None]
    assert world.image.client_quotas == {}


def test_what_is_as_it_was_is_not_written_again() -> None:
    world = World()
    alter(world, QuotaChange(JAN, {"producer_byte_rate": 5.0}))
    before = world.image.offset
    assert alter(world, QuotaChange(JAN, {"producer_byte_rate": 5.0, "consumer_byte_rate": None})) == [None]
    assert world.image.offset == before


def test_a_snapshot_holds_them_and_takes_away_what_it_does_not_hold() -> None:
    world = World()
    alter(
        world,
        QuotaChange(JAN, {"producer_byte_rate": 5.0}),
        QuotaChange([("ip", None)], {"connection_creation_rate": 3.0}),
    )
    records = list(image_records(world.image))
    again = MetadataDelta(EMPTY_IMAGE, is_snapshot=True)
    for record in records:
        again.replay(record)
    run_whole(again.finish_snapshot())
    assert again.apply(world.image.offset, 1).same_content(world.image)
    without = MetadataDelta(world.image, is_snapshot=True)
    for record in records:
        if type(record).__name__ != "ClientQuotaRecord":
            without.replay(record)
    run_whole(without.finish_snapshot())
    assert without.apply(world.image.offset + 1, 1).client_quotas == {}
    assert MetadataDelta.whole(world.image).apply(world.image.offset, 1).client_quotas == world.image.client_quotas
