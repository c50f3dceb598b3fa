"""The lines of the log: where a run is, its gauges and its figures."""

import math

from rebatch.engine.job import Job, Record
from rebatch.engine.state import Progress
from rebatch.noise import noise_scale


def line(job: Job, progress: Progress, kind: str, rate: float) -> Record:
    """Return what every line of the log carries, after the update just finished.

    ``gradient_noise_scale`` is in the units of ``batch_size``: samples, or columns of text.  The
    other noise scale, εN/B, counts tokens for text.
    """
    plan, learner = job.plan, job.learner
    row = plan.rows[plan.row_at(progress.update - 1)]
    samples = plan.amount.full(row.batch_size)
    share = learner.largest_share(row.batch_size)
    return {
        "kind": kind,
        "epoch": progress.epoch,
        "update": progress.update,
        "samples": plan.sample_at(progress.update),
        "batch_size": row.batch_size,
        "micro_batch_size": min(learner.micro_batch_size or share, share),
        "cycle": row.cycle,
        "step": row.step,
        "learning_rate": rate,
        "noise_scale": noise_scale(rate, samples, plan.amount.count, momentum=job.momentum),
        "gradient_noise_scale": progress.noise.scale,
        **_train_figures(job, progress),
        "seconds": round(progress.seconds, 3),
    }


def _train_figures(job: Job, progress: Progress) -> dict[str, float]:
    text = job.learner.task.batch_dim == 1
    figures = progress.tally.figures(counts_correct=not text)
    if text:
        figures["train_perplexity"] = math.exp(min(figures["train_loss"], 700.0))
    return figures
