import io
import json
import math
import warnings
from itertools import chain

import numpy as np
import pytest
import torch
from torch.optim import SGD, lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

import rebatch
from rebatch.data import PlannedBatchSampler, ResizableBatchSampler
from rebatch.optim import BatchSizeScheduler, CoupledLR

CYCLE = rebatch.cyclical(10, width=1, steps=3)  # 10, 20, 40, 10, ...


def saved(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def loader(samples=40, **options):
    sampler = ResizableBatchSampler(range(samples), 1, **options)
    return DataLoader(TensorDataset(torch.arange(samples)), batch_sampler=sampler)


def optimizer(*rates):
    groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": rate} for rate in rates]
    return SGD(groups or [torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)


def rates(scheduler, steps, *args):
    """Return the rate of the first group before each of so many updates."""
    seen = []
    for _ in range(steps):
        seen.append(scheduler.optimizer.param_groups[0]["lr"])
        scheduler.optimizer.step()
        scheduler.step(*args)
    return seen


# The batch-size scheduler


def test_the_size_is_set_at_construction_and_by_every_step():
    feed = loader()
    scheduler = BatchSizeScheduler(feed, CYCLE)
    sizes = []
    for _ in range(4):
        sizes.append((scheduler.last_epoch, scheduler.get_last_batch_size(), len(list(feed))))
        scheduler.step()
    assert sizes == [(0, 10, 4), (1, 20, 2), (2, 40, 1), (3, 10, 4)]


def test_a_step_may_name_the_epoch():
    sampler = ResizableBatchSampler(range(40), 1)
    scheduler = BatchSizeScheduler(sampler, CYCLE)
    scheduler.step(5)
    assert (scheduler.last_epoch, sampler.size) == (5, 40)


def test_last_epoch_goes_on_after_the_one_given():
    scheduler = BatchSizeScheduler(loader(), CYCLE, last_epoch=0)
    assert (scheduler.last_epoch, scheduler.get_last_batch_size()) == (1, 20)


@pytest.mark.parametrize(
    ("drop_last", "sizes"), [(False, [1, 1, 3, 3, 3, 1]), (True, [1, 1, 3, 3, 3])]
)
def test_an_update_clock_changes_the_size_exactly_inside_an_epoch(drop_last, sizes):
    feed = loader(12, drop_last=drop_last)
    schedule = rebatch.thresholds({0: 1, 2: 3}, clock="updates")
    scheduler = BatchSizeScheduler(feed, schedule)
    seen = []
    for (batch,) in feed:
        seen.append(batch.tolist())
        scheduler.step()
    assert [len(batch) for batch in seen] == sizes
    assert list(chain(*seen)) == list(range(sum(sizes)))


def test_its_state_is_small_and_loads_with_weights_only():
    scheduler = BatchSizeScheduler(loader(100_000), CYCLE)
    scheduler.step()
    state = scheduler.state_dict()
    assert len(json.dumps(state)) < 1000
    assert saved(state) == {"last_epoch": 1, "batch_size": 20}


def test_a_loaded_state_is_applied_to_the_loader():
    scheduler = BatchSizeScheduler(loader(), CYCLE)
    scheduler.step(2)
    feed = loader()
    BatchSizeScheduler(feed, CYCLE).load_state_dict(saved(scheduler.state_dict()))
    assert [len(batch) for (batch,) in feed] == [40]


def test_a_cap_clips_a_cycle_and_does_not_end_it():
    scheduler = BatchSizeScheduler(loader(), rebatch.clamp(CYCLE, high=15))
    sizes = []
    for _ in range(5):
        sizes.append(scheduler.get_last_batch_size())
        scheduler.step()
    assert sizes == [10, 15, 15, 10, 15]


def test_a_state_of_another_schedule_is_refused():
    scheduler = BatchSizeScheduler(loader(), CYCLE)
    scheduler.step()
    other = BatchSizeScheduler(loader(), rebatch.constant(10))
    with pytest.raises(rebatch.InputError, match="state must be of this schedule"):
        other.load_state_dict(scheduler.state_dict())


def test_a_state_without_a_position_is_refused():
    with pytest.raises(rebatch.InputError, match="state must be one that state_dict gave"):
        BatchSizeScheduler(loader(), CYCLE).load_state_dict({"batch_size": 10})


def test_a_loader_with_a_fixed_size_is_refused():
    fixed = DataLoader(TensorDataset(torch.arange(4)), batch_size=2)
    with pytest.raises(rebatch.InputError, match="target must be a ResizableBatchSampler"):
        BatchSizeScheduler(fixed, CYCLE)


def test_a_schedule_that_counts_samples_is_refused():
    schedule = rebatch.thresholds({0: 1, 100: 2}, clock="samples")
    with pytest.raises(rebatch.InputError, match="schedule must count epochs or updates"):
        BatchSizeScheduler(loader(), schedule)


# Rates coupled to the batch size


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("none", [1.0, 1.0, 1.0, 1.0]),
        ("linear", [1.0, 2.0, 4.0, 1.0]),
        ("sqrt", [1.0, math.sqrt(2), 2.0, 1.0]),
        (lambda ratio: 1 / ratio, [1.0, 0.5, 0.25, 1.0]),
    ],
)
def test_the_rate_follows_the_batch_size_up_and_back(rule, expected):
    constant = lr_scheduler.ConstantLR(optimizer(), factor=1.0)
    assert rates(CoupledLR(constant, CYCLE, rule), 4) == expected


def test_the_drop_brings_the_rate_back_to_the_very_number():
    coupled = CoupledLR(lr_scheduler.ConstantLR(optimizer(0.1), factor=1.0), 3, "sqrt")
    for _ in range(100):
        coupled.set_batch_size(7)
        coupled.set_batch_size(3)
    assert coupled.get_last_lr() == [0.1]


def test_saying_the_same_size_again_changes_nothing():
    coupled = CoupledLR(lr_scheduler.ConstantLR(optimizer(0.1), factor=1.0), 10, "linear")
    coupled.set_batch_size(40)
    coupled.set_batch_size(40)
    assert coupled.get_last_lr() == [0.4]


def test_a_size_that_was_said_outlasts_steps():
    coupled = CoupledLR(lr_scheduler.StepLR(optimizer(1.0), 1, gamma=0.5), 10, "linear")
    coupled.set_batch_size(20)
    assert rates(coupled, 3) == [2.0, 1.0, 0.5]


SCHEDULERS = {
    "step": lambda it: lr_scheduler.StepLR(it, 2, gamma=0.5),
    "multistep": lambda it: lr_scheduler.MultiStepLR(it, [2, 5]),
    "exponential": lambda it: lr_scheduler.ExponentialLR(it, 0.9),
    "cosine": lambda it: lr_scheduler.CosineAnnealingLR(it, 7),
    "one cycle": lambda it: lr_scheduler.OneCycleLR(it, 2.0, total_steps=20),
    "cyclic": lambda it: lr_scheduler.CyclicLR(it, 0.1, 1.0, step_size_up=3),
    "lambda": lambda it: lr_scheduler.LambdaLR(it, lambda epoch: 0.95**epoch),
    "polynomial": lambda it: lr_scheduler.PolynomialLR(it, 20),
    "chained": lambda it: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(it, 0.1, 3), lr_scheduler.ExponentialLR(it, 0.9)]
    ),
    "sequential": lambda it: lr_scheduler.SequentialLR(
        it, [lr_scheduler.LinearLR(it, 0.1), lr_scheduler.ExponentialLR(it, 0.9)], [3]
    ),
}


@pytest.mark.parametrize("make", SCHEDULERS.values(), ids=SCHEDULERS.keys())
def test_a_recursive_scheduler_never_sees_the_factor(make):
    alone = make(optimizer(1.0))
    coupled = CoupledLR(make(optimizer(1.0)), CYCLE, "linear")
    factors = [1, 2, 4, 1, 2, 4, 1, 2, 4, 1]
    with warnings.catch_warnings():  # torch's own, of SequentialLR stepping by number
        warnings.filterwarnings("ignore", category=UserWarning, module="torch")
        plain = rates(alone, 10)
        assert rates(coupled, 10) == [rate * f for rate, f in zip(plain, factors, strict=True)]


def test_exponential_decay_equals_its_closed_form():
    coupled = CoupledLR(lr_scheduler.ExponentialLR(optimizer(1.0), 0.5), CYCLE, "linear")
    assert rates(coupled, 5) == [1.0, 1.0, 1.0, 0.125, 0.125]


def test_a_plateau_lowers_the_unscaled_rate():
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer(1.0), factor=0.5, patience=0)
    assert rates(CoupledLR(plateau, CYCLE, "linear"), 4, 7.0) == [1.0, 2.0, 2.0, 0.25]


def test_the_momentum_of_one_cycle_is_left_alone():
    alone, coupled = (
        lr_scheduler.OneCycleLR(optimizer(1.0), 2.0, total_steps=10) for _ in range(2)
    )
    wrapped = CoupledLR(coupled, CYCLE, "linear")
    for scheduler in (alone, wrapped):
        rates(scheduler, 4)
    groups = [each.optimizer.param_groups[0] for each in (alone, wrapped)]
    assert groups[0]["momentum"] == groups[1]["momentum"] != 0.9


def test_each_parameter_group_may_have_its_own_rule():
    constant = lr_scheduler.ConstantLR(optimizer(1.0, 0.5), factor=1.0)
    coupled = CoupledLR(constant, 10, ["linear", "none"])
    coupled.set_batch_size(40)
    assert coupled.get_last_lr() == [4.0, 0.5]


def test_a_plan_gives_the_size_of_every_update():
    plan = rebatch.plan(CYCLE, epochs=3, examples=40)  # 4, 2 and 1 updates
    constant = lr_scheduler.ConstantLR(optimizer(1.0), factor=1.0)
    assert rates(CoupledLR(constant, plan, "linear"), 7) == [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0]


def test_the_plan_is_the_horizon_of_one_cycle():
    plan = rebatch.plan(CYCLE, epochs=6, examples=40)
    model = torch.nn.Linear(1, 1)
    optim = SGD(model.parameters(), lr=0.1)
    one_cycle = lr_scheduler.OneCycleLR(optim, 1.0, total_steps=plan.updates)
    sampler = PlannedBatchSampler(plan)
    for epoch in range(6):
        sampler.set_epoch(epoch)
        for _ in sampler:
            optim.step()
            last = one_cycle.get_last_lr()
            if one_cycle.last_epoch < plan.updates - 1:
                one_cycle.step()
    assert last == pytest.approx([4e-6])


def test_a_base_of_its_own_scales_from_the_start():
    constant = lr_scheduler.ConstantLR(optimizer(1.0), factor=1.0)
    assert rates(CoupledLR(constant, CYCLE, "linear", base=20), 3) == [0.5, 1.0, 2.0]


def test_a_rate_kept_as_a_tensor_stays_the_same_tensor():
    optim = SGD([torch.zeros(1, requires_grad=True)], lr=torch.tensor(0.5))
    rate = optim.param_groups[0]["lr"]
    coupled = CoupledLR(lr_scheduler.StepLR(optim, 1, gamma=0.5), 10, "linear")
    coupled.set_batch_size(20)
    optim.step()
    coupled.step()
    assert optim.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5


@pytest.mark.parametrize("make", SCHEDULERS.values(), ids=SCHEDULERS.keys())
def test_a_saved_state_goes_on_alike_and_is_applied_at_once(make):
    first = CoupledLR(make(optimizer(1.0)), CYCLE, "linear")
    second = CoupledLR(make(optimizer(1.0)), CYCLE, "linear")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="torch")
        rates(first, 4)
        second.load_state_dict(saved(first.state_dict()))
        assert second.get_last_lr() == first.get_last_lr()
        second.optimizer.step()
        assert rates(second, 4) == rates(first, 4)


def test_a_state_may_be_loaded_twice():
    cyclic = lr_scheduler.CyclicLR(optimizer(1.0), 0.1, 0.5, 4, cycle_momentum=False)
    coupled = CoupledLR(cyclic, CYCLE, "linear")
    state = coupled.state_dict()
    coupled.load_state_dict(state)
    coupled.load_state_dict(state)
    assert coupled.get_last_lr() == pytest.approx([0.1])


def test_the_state_of_a_simple_scheduler_is_small():
    coupled = CoupledLR(lr_scheduler.StepLR(optimizer(1.0), 2), CYCLE, "linear")
    assert len(json.dumps(coupled.state_dict())) < 1000


def test_an_optimizer_may_be_loaded_before_or_after():
    first = CoupledLR(lr_scheduler.StepLR(optimizer(1.0), 2), CYCLE, "linear")
    rates(first, 2)
    for order in (0, 1):
        second = CoupledLR(lr_scheduler.StepLR(optimizer(1.0), 2), CYCLE, "linear")
        loads = [
            lambda to=second: to.load_state_dict(first.state_dict()),
            lambda to=second: to.optimizer.load_state_dict(first.optimizer.state_dict()),
        ]
        for load in (loads[order], loads[1 - order]):
            load()
        second.optimizer.step()
        assert rates(second, 3) == pytest.approx([0.4, 0.1, 0.02])


def test_an_unknown_rule_is_refused():
    constant = lr_scheduler.ConstantLR(optimizer(1.0), factor=1.0)
    with pytest.raises(rebatch.InputError, match="rule must be one of none, linear, sqrt"):
        CoupledLR(constant, CYCLE, "cubic")


def test_a_rule_for_each_group_is_asked_for():
    constant = lr_scheduler.ConstantLR(optimizer(1.0, 0.5), factor=1.0)
    with pytest.raises(rebatch.InputError, match="rule must be one for each of 2 groups, got 1"):
        CoupledLR(constant, CYCLE, ["linear"])


def test_numbers_of_numpy_are_taken_and_leave_a_state_that_is_plain():
    scheduler = BatchSizeScheduler(loader(), CYCLE)
    scheduler.step(np.int64(1))
    assert json.loads(json.dumps(scheduler.state_dict())) == {"last_epoch": 1, "batch_size": 20}
    constant = lr_scheduler.ConstantLR(optimizer(1.0), factor=1.0)
    assert CoupledLR(constant, np.int64(10)).batch_size == 10
