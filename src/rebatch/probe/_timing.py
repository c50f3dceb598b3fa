"""How long a probe will take, from a few updates that are thrown away."""

import time

import torch

from rebatch.engine.learner import Learner
from rebatch.engine.task import count
from rebatch.probe._branch import Lab, measure_every

UNTIMED, TIMED, SECONDS = 2, 30, 1.0


def expected_seconds(lab: Lab) -> float:
    """Return about how long warm-up and branches take; judging held-out data is not counted.

    The smallest and the largest batch size are timed, and the others lie on the line between.
    """
    design = lab.design
    low, high = design.sizes[0], design.sizes[-1]
    short, long = (_seconds_an_update(lab, size) for size in (low, high))
    sample = max(0.0, (long - short) / (high - low))
    each = {size: short + sample * (size - low) for size in design.sizes}
    before = design.warm_up_case().plan().updates * each[low]
    return before + design.repeats * sum(design.updates(size) * each[size] for size in each)


def _seconds_an_update(lab: Lab, batch_size: int) -> float:
    learner, _ = lab.learner(lab.design.case_from_start(batch_size), 0)
    learner.model.train()
    started, done = time.perf_counter(), 0
    memory, dim = None, learner.task.batch_dim
    every = measure_every(lab.design.updates(batch_size))
    for number, batch in enumerate(learner.task.batches(0, 0)):
        if number == UNTIMED:
            _wait(learner)
            started, done = time.perf_counter(), 0
        if batch.reset:
            memory = learner.task.memory(learner.model, count(batch, dim))
        measure = number % every == 0
        memory = learner.update(batch, memory, 0.0, measure=measure).memory
        done += 1
        if done >= TIMED or time.perf_counter() - started > SECONDS:
            break
    _wait(learner)
    return (time.perf_counter() - started) / done


def _wait(learner: Learner) -> None:
    if learner.device.type == "cuda":
        torch.cuda.synchronize(learner.device)
