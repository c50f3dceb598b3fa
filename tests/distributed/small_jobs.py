"""Small problems in double precision, trained by one rank of several: what a launch runs."""

import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import distributed, nn

import rebatch
from rebatch._course import Course
from rebatch.data import crop_and_flip
from rebatch.engine.adversarial import Adversarial
from rebatch.engine.ensemble import evaluate_snapshots
from rebatch.engine.images import ImageTask
from rebatch.engine.job import Job
from rebatch.engine.language import LanguageTask
from rebatch.engine.launch import launched
from rebatch.engine.learner import Learner
from rebatch.engine.loop import train
from rebatch.engine.precision import autocast
from rebatch.engine.snapshots import list_snapshots, snapshot_updates
from rebatch.engine.stopping import Stopped
from rebatch.errors import InputError, RunError
from rebatch.models import GroupedBatchNorm2d, LanguageModel
from rebatch.policies import Decision, Policy
from rebatch.records import RunFolder

CPU = torch.device("cpu")
GROUP = 3


def pictures():
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(46) % 2
    noise = torch.randint(0, 128, (46, 3, 8, 8), generator=generator)
    return (noise + 100 * labels[:, None, None, None]).to(torch.uint8), labels


def picture_job(ranks, out, **settings):
    """Updates of 7 and 14 samples: 3 and 5 groups of batch norm, the last of one smaller."""
    plan = rebatch.plan(rebatch.parse("CBS-1-2", 7), epochs=4, examples=46)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        GroupedBatchNorm2d(4, GROUP),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(4 * 36, 2),
    ).double()
    task = ImageTask(
        pictures(),
        {"test": tuple(part[:13] for part in pictures())},
        plan,
        seed=0,
        device=CPU,
        dtype=torch.float64,
        ranks=ranks,
        augment=crop_and_flip(padding=2),
        adversarial=Adversarial(share=0.4),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, weight_decay=1e-3)
    learner = Learner(model, optimizer, task, CPU, precision="fp64", group=GROUP, ranks=ranks)
    return job_of(learner, plan, 0.05, out, **settings)


def text_job(ranks, out, **settings):
    """Updates of 5 and 10 columns, in micro-batches of 2."""
    generator = torch.Generator().manual_seed(2)
    tokens = torch.arange(400) % 7
    tokens[torch.randint(0, 400, (400,), generator=generator)] = 0
    plan = rebatch.plan(rebatch.parse("CBS-1-2", 5), epochs=4, tokens=400, bptt=9)
    held_out = {"valid": tokens[:150], "test": tokens[150:333]}
    task = LanguageTask(tokens, held_out, plan, device=CPU, bptt=9, columns=3, ranks=ranks)
    torch.manual_seed(0)
    model = LanguageModel(7, 6, dropout=0.0).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    learner = Learner(
        model, optimizer, task, CPU, precision="fp64", clip=0.25, micro_batch_size=2, ranks=ranks
    )
    return job_of(learner, plan, 5.0, out, **settings)


def job_of(learner, plan, rate, out, **settings):
    snapshots = snapshot_updates(plan)
    values = {"log_every": 3, "snapshots": snapshots, "momentum": 0.9, **settings}
    return Job(learner, plan, lambda position, history: rate, RunFolder(out), **values)


JOBS = {"pictures": picture_job, "text": text_job}


def figures(job, *, resume=False):
    """Train, and return the sum of losses after every update and the state that is left."""
    losses = []
    job.watch = lambda progress, rate: losses.append(float(progress.tally.loss))
    return {"losses": losses, **state(job, train(job, resume=resume))}


def state(job, progress):
    learner = job.learner
    model = learner.model.state_dict()
    context = autocast(learner.precision, learner.device)
    paths = list_snapshots(job.folder.snapshots)
    ensemble = evaluate_snapshots(learner.model, learner.task, paths, context)
    return {
        "weights": torch.cat([value.flatten().double() for value in model.values()]).tolist(),
        "names": list(model),
        "final": progress.final,
        "update": progress.update,
        "noise": progress.noise.scale,
        "ensemble": {name: ensemble[name] for name in ensemble if name != "members"},
    }


def stopped_by(rank, update, ranks):
    """Send SIGTERM to one rank alone."""

    def watch(progress, rate):
        if ranks.rank == rank and progress.update == update:
            os.kill(os.getpid(), signal.SIGTERM)

    return watch


def stop(make, ranks, out, update):
    """Train until one rank is told to stop, and say after which update this one did."""
    job = make(ranks, out, watch=stopped_by(ranks.size - 1, update, ranks))
    try:
        train(job)
    except Stopped as error:
        return str(error)
    return None


def short_of_memory(ranks, out):
    """Let one rank alone run out of memory above a group: another than the first, if it can."""
    job = picture_job(ranks, out)
    inner = job.learner.task.loss
    short = 1 if ranks.size == 2 else 0

    def loss(model, batch, memory):
        result = inner(model, batch, memory)
        if ranks.rank == short and len(batch.targets) > GROUP:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return result

    job.learner.task.loss = loss
    found = figures(job)
    return {**found, "micro_batch_size": job.learner.micro_batch_size}


def not_a_number(ranks, out):
    """Train with a rate that leads nowhere and return the complaint."""
    job = picture_job(ranks, out)
    job.rate = lambda position, history: 1e300
    try:
        train(job)
    except RunError as error:
        return str(error)
    return None


def goes_on(make, ranks, root, name):
    """Go on with what two ranks have left."""
    left = root / f"{name}-left-for-{ranks.size}"
    ranks.first_does(lambda: shutil.copytree(root / f"{name}-stopped-2", left))
    return figures(make(ranks, left), resume=True)


def disagree(ranks, root):
    """Let the last rank find an earlier checkpoint than the others, and return the complaint."""
    earlier = root / f"earlier-{ranks.size}"
    stop(picture_job, ranks, earlier, 5)
    odd = ranks.rank == ranks.size - 1
    try:
        train(picture_job(ranks, earlier if odd else root / "pictures-stopped-2"), resume=True)
    except InputError as error:
        return str(error)
    return None


@dataclass(frozen=True, repr=False)
class stubborn(Policy):
    """Decides otherwise on every rank: 7 + 7 on the first, 7 + 8 on the second, and so on."""

    rank: int = 0
    needs_noise = True

    def completes(self, seen, outlook):
        return True

    def next(self, seen, outlook):
        assert seen[-1].noise_scale is None or seen[-1].noise_scale >= 0
        return Decision(seen[-1].batch_size + 7 + self.rank, f"rank {self.rank} wants it")


def decides(ranks, out, **settings):
    """Let a policy plan three epochs of pictures, the first of which the job has planned."""
    job = picture_job(ranks, out, **settings)
    job.policy = stubborn(7, rank=ranks.rank)
    job.course = Course.begun(job.policy, job.plan.amount, 3)
    job.learner.task.loader.plan = job.plan = job.course.plan
    job.snapshots = {}
    return job


def deciding(ranks, root):
    """Return what was decided in a run that is stopped and goes on."""
    whole = decides(ranks, root / f"decides-{ranks.size}")
    found = figures(whole)
    stop(decides, ranks, root / f"decides-stopped-{ranks.size}", 9)
    rest = decides(ranks, root / f"decides-stopped-{ranks.size}")
    resumed = figures(rest, resume=True)
    return {
        "sizes": [row.batch_size for row in whole.plan.rows],
        "reason": whole.course.reason,
        "same": resumed["weights"] == found["weights"] and rest.plan.rows == whole.plan.rows,
        "weights": found["weights"],
    }


def train_all(rank, world):
    root = Path(sys.argv[1])
    torch.set_num_threads(1)
    found = {}
    with launched(CPU, seed=0) as ranks:
        assert (ranks.rank, ranks.size) == (rank, world)
        for name, make in JOBS.items():
            found[name] = figures(make(ranks, root / f"{name}-{world}"))
            found[f"{name} stopped"] = stop(make, ranks, root / f"{name}-stopped-{world}", 9)
            found[f"{name} resumed"] = goes_on(make, ranks, root, name)
        found["memory"] = short_of_memory(ranks, root / f"memory-{world}")
        found["deciding"] = deciding(ranks, root)
        found["disagree"] = disagree(ranks, root)
        found["not a number"] = not_a_number(ranks, root / f"nan-{world}")
        assert distributed.is_initialized() == (world > 1)
    return found


def die(rank, world):
    """Let the last rank die in mid-run, and return what the others have to say and how soon."""
    torch.set_num_threads(1)
    started = time.monotonic()

    def watch(progress, rate):
        nonlocal started
        started = time.monotonic()
        if rank == world - 1 and progress.update == 4:
            os._exit(9)

    with launched(CPU, seed=0) as ranks:
        try:
            train(picture_job(ranks, Path(sys.argv[1]) / f"dies-{world}", watch=watch))
        except RunError as error:
            return str(error), time.monotonic() - started
