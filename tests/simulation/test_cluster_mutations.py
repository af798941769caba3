"""The checker is checked: errors that cost others data, planted on purpose, are found by the simulated clusters."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import cluster_mutations
import pytest

from moldau.simulation.cluster_scenario import run_cluster
from moldau.simulation.ledger import Broken
from moldau.simulation.world import Violation

# By mutation a seed that finds it.
FOUND = {
    "acknowledges_alone": 1000,
    "acknowledges_below_the_minimum": 1009,
    "coordinates_what_it_does_not_lead": 1001,
    "counts_a_fetch_of_an_earlier_life": 1002,
    "cuts_to_its_high_watermark": 1001,
    "elects_whoever_lost_records": 1006,
    "forgets_its_vote": 1008,
    "keeps_producers_of_what_was_cut": 1005,
    "leads_by_what_its_last_life_led": 1000,
    "takes_a_snapshot_beside_another_log": 1000,
    "takes_markers_of_an_old_coordinator": 1019,
    "takes_the_log_of_a_deleted_topic": 1003,
}
# Every test run sees these found.
QUICK = ("acknowledges_alone", "coordinates_what_it_does_not_lead", "takes_a_snapshot_beside_another_log")
_MOST_SEEDS = 200


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What a broken cluster has to say is of no interest."""
    logger = logging.getLogger("moldau")
    propagate, logger.propagate = logger.propagate, False
    yield
    logger.propagate = propagate


def _found_by(mutation: str, seed: int) -> bool:
    with getattr(cluster_mutations, mutation)():
        try:
            run_cluster(seed)
        except (Broken, Violation):
            return True
    return False


@pytest.mark.parametrize("mutation", QUICK)
def test_a_planted_error_is_found(mutation: str) -> None:
    assert _found_by(mutation, FOUND[mutation])


@pytest.mark.long
@pytest.mark.parametrize("mutation", sorted(FOUND.keys() - set(QUICK)))
def test_a_planted_error_is_found_with_a_known_seed(mutation: str) -> None:
    assert _found_by(mutation, FOUND[mutation])


@pytest.mark.long
@pytest.mark.parametrize("mutation", FOUND)
def test_a_planted_error_is_found_within_two_hundred_seeds(mutation: str) -> None:
    assert any(_found_by(mutation, seed) for seed in range(1000, 1000 + _MOST_SEEDS))
