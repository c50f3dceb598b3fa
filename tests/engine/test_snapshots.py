import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from rebatch import clamp, cyclical, parse, plan
from rebatch._amount import Examples
from rebatch._course import Course
from rebatch.engine.snapshots import (
    list_members,
    list_snapshots,
    load_snapshot,
    save_snapshot,
    snapshot_epochs,
    snapshot_updates,
)
from rebatch.errors import InputError, RunError
from rebatch.policies import Decision, gns


def updates(code: str, epochs: int, place: str = "cycle-end") -> list[int]:
    """After how many updates snapshots are due, with 80 samples in an epoch at base 10."""
    made = plan(parse(code, 10), epochs=epochs, examples=80)
    found = snapshot_updates(made, place)
    assert list(found.values()) == list(range(len(found)))
    return list(found)


def test_cycles_give_one_where_they_end_and_a_cut_one_gives_none():
    # CBS-1-2: 8 updates at 10, then 4 at 20.
    assert updates("CBS-1-2", 4) == [12, 24]
    assert updates("CBS-1-2", 5) == [12, 24]
    assert updates("CBS-1-2", 1) == []
    assert updates("BL", 5) == []


def test_the_top_step_of_a_triangle_lies_before_the_end_of_its_cycle():
    # CBS-1-3-T: 10, 20, 40, 20, again: 8, 4, 2 and 4 updates.
    assert updates("CBS-1-3-T", 8) == [18, 36]
    assert updates("CBS-1-3-T", 8, "top-step-end") == [14, 32]
    assert updates("CBS-1-4-T", 11, "top-step-end") == [15, 36]  # cut while it falls
    assert updates("CBS-1-3-T", 7, "top-step-end") == [14]  # cut at the top: the final weights
    assert updates("CBS-1-3-T", 6, "top-step-end") == [14]
    assert updates("CBS-1-2", 4, "top-step-end") == [12, 24]


def test_every_step_can_have_one():
    assert updates("CBS-1-2", 4, "step-end") == [8, 12, 20, 24]
    assert updates("CBS-1-2", 3, "step-end") == [8, 12]
    assert updates("BL", 3, "step-end") == []


def test_a_step_that_a_policy_lets_go_on_gives_none():
    course = Course.begun(gns(10), Examples(80), 9)
    for size in (10, 20, 20):
        course = course.decided(Decision(size, ""))
    assert list(snapshot_updates(course.plan, "step-end")) == [16]
    assert list(snapshot_updates(course.closed().plan, "step-end")) == [16, 24]


def test_a_capped_cycle_has_one_top():
    made = plan(clamp(cyclical(10, width=1, steps=3), high=20), epochs=6, examples=80)
    assert [row.batch_size for row in made.rows] == [10, 20, 20, 10, 20, 20]
    assert list(snapshot_updates(made, "top-step-end")) == [16, 32]


def test_another_place_is_refused():
    made = plan(parse("BL", 10), epochs=1, examples=80)
    with pytest.raises(InputError, match=r"snapshot_at must be one of cycle-end, top-step-end"):
        snapshot_updates(made, "middle")


def test_a_baseline_takes_them_after_given_epochs():
    made = plan(parse("BL", 10), epochs=4, examples=75)
    assert snapshot_epochs(made, (2, 4)) == {16: 0, 32: 1}
    with pytest.raises(InputError, match=r"snapshot epochs must be from 1 to 4, got 5"):
        snapshot_epochs(made, (2, 5))


def test_an_epoch_without_an_update_gives_none():
    schedule = cyclical(50, width=1, steps=2)
    made = plan(schedule, epochs=4, examples=80, drop_last=True)
    assert [made.updates_in(epoch) for epoch in range(4)] == [1, 0, 1, 0]
    assert snapshot_updates(made) == {1: 0, 2: 1}


def test_weights_and_buffers_come_back(tmp_path):
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))
    model(torch.rand(3, 1, 2, 2))
    path = tmp_path / "snapshots" / "cycle-000.safetensors"
    save_snapshot(path, model)
    other = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))
    load_snapshot(path, other)
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
    assert load_file(path)["1.num_batches_tracked"].item() == 1


def test_a_file_that_does_not_fit_is_named(tmp_path):
    path = tmp_path / "cycle-000.safetensors"
    with pytest.raises(RunError, match=r"cycle-000\.safetensors is missing"):
        load_snapshot(path, nn.Linear(1, 1))
    save_snapshot(path, nn.Linear(1, 1))
    with pytest.raises(RunError, match="does not hold a snapshot of this model"):
        load_snapshot(path, nn.Linear(2, 1))
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(RunError, match="does not hold a snapshot of this model"):
        load_snapshot(path, nn.Linear(1, 1))


def write(folder, **contents):
    for name, content in contents.items():
        (folder / f"{name.replace('_', '-')}.safetensors").write_text(content)


def test_snapshots_are_listed_in_order(tmp_path):
    write(tmp_path, cycle_010="c", cycle_002="b", final="c", cycle_000="a")
    found = [path.stem for path in list_snapshots(tmp_path)]
    assert found == ["cycle-000", "cycle-002", "cycle-010"]
    assert list_snapshots(tmp_path / "none") == []


def test_the_final_weights_are_a_member_where_training_went_on_after_the_last_snapshot(tmp_path):
    write(tmp_path, final="z")
    assert list_members(tmp_path) == []
    write(tmp_path, cycle_000="a", cycle_001="b")
    stems = [path.stem for path in list_members(tmp_path)]
    assert stems == ["cycle-000", "cycle-001", "final"]
    assert [path.stem for path in list_members(tmp_path, last=2)] == ["cycle-001", "final"]
    write(tmp_path, cycle_001="z")
    assert [path.stem for path in list_members(tmp_path)] == ["cycle-000", "cycle-001"]
