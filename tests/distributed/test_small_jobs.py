"""Real processes over gloo, in double precision: what one does, two and four do to rounding."""

import pytest

RANKS = [(2, 0), (2, 1), (4, 0), (4, 3)]


@pytest.fixture(scope="module")
def launched(launch):
    # Two first, because all of them go on with what two have left.
    return launch("small_jobs.py", "train_all:2", "train_all:1", "train_all:4", "die:3")[1]


@pytest.fixture(scope="module")
def found(launched):
    return {world: launched[f"train_all:{world}"] for world in (1, 2, 4)}


@pytest.fixture(scope="module")
def one(found):
    return found[1][0]


def near(values):
    return pytest.approx(values, rel=1e-9, abs=1e-9)


# Updates of 7 and 14 images in groups of 3, and of 5 and 10 columns: no number of ranks divides.
@pytest.mark.parametrize(("world", "rank"), RANKS)
@pytest.mark.parametrize(("name", "updates"), [("pictures", 22), ("text", 28)])
class TestSeveralRanks:
    def test_lose_what_one_process_loses(self, found, one, world, rank, name, updates):
        losses = found[world][rank][name]["losses"]
        assert len(losses) == updates
        assert losses == near(one[name]["losses"])

    def test_end_with_the_same_weights_and_statistics(self, found, one, world, rank, name, updates):
        trained = found[world][rank][name]
        assert trained["names"] == one[name]["names"]
        assert trained["weights"] == near(one[name]["weights"])
        assert trained["weights"] == found[world][0][name]["weights"]

    def test_judge_alike(self, found, one, world, rank, name, updates):
        trained = found[world][rank][name]
        assert trained["final"] == near(one[name]["final"])
        assert trained["ensemble"] == near(one[name]["ensemble"])

    def test_stop_together_when_one_is_told_to(self, found, one, world, rank, name, updates):
        assert found[world][rank][f"{name} stopped"].startswith(
            "stopped by SIGTERM after update 9:"
        )

    def test_go_on_with_what_two_have_left(self, found, one, world, rank, name, updates):
        resumed = found[world][rank][f"{name} resumed"]
        assert resumed["losses"] == near(one[name]["losses"][9:])
        assert resumed["weights"] == near(one[name]["weights"])
        assert resumed["final"] == near(one[name]["final"])


@pytest.mark.parametrize("name", ["pictures", "text"])
def test_one_process_goes_on_with_what_two_have_left(one, name):
    resumed = one[f"{name} resumed"]
    assert resumed["losses"] == near(one[name]["losses"][9:])
    assert resumed["weights"] == near(one[name]["weights"])


@pytest.mark.parametrize(("world", "rank"), RANKS)
def test_all_ranks_take_the_micro_batch_that_one_has_memory_for(found, one, world, rank):
    short = found[world][rank]["memory"]
    assert short["micro_batch_size"] == 3
    assert short["weights"] == near(one["pictures"]["weights"])


@pytest.mark.parametrize(("world", "rank"), RANKS)
def test_all_ranks_are_refused_where_one_finds_another_checkpoint(found, world, rank):
    assert found[world][rank]["disagree"] == (
        "update of the checkpoint must be the same on all ranks, "
        f"got 9 on rank 0 and 5 on rank {world - 1}"
    )


@pytest.mark.parametrize(("world", "rank"), RANKS)
def test_all_ranks_notice_a_loss_that_is_no_number(found, one, world, rank):
    assert "is no longer a finite number at epoch 0" in one["not a number"]
    assert found[world][rank]["not a number"] == one["not a number"]


@pytest.mark.parametrize(("world", "rank"), RANKS)
def test_the_first_rank_decides_for_all_and_a_resume_keeps_it(found, one, world, rank):
    decided = found[world][rank]["deciding"]
    assert decided["sizes"] == one["deciding"]["sizes"] == [7, 14, 21]
    assert decided["reason"] == "rank 0 wants it"
    assert decided["weights"] == near(one["deciding"]["weights"])
    assert decided["same"]


@pytest.mark.parametrize(("world", "rank"), RANKS)
def test_the_gradient_noise_is_measured_from_the_gradients_of_the_ranks(found, world, rank):
    noise = found[world][rank]["text"]["noise"]
    assert 1 < noise < 100
    assert noise == found[world][0]["text"]["noise"]


def test_the_others_end_soon_when_a_rank_dies(launched):
    *others, dead = launched["die:3"]
    assert dead == "gone without a word"
    for complaint, seconds in others:
        assert complaint.startswith("another rank has left or does not answer: ")
        assert seconds < 30
