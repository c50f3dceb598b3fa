"""Runs that make their plan while they train: at the end of a row the policy decides the next."""

from rebatch import Row
from rebatch._course import Course
from rebatch.engine.curvature import Curvature, measure_curvature
from rebatch.engine.job import Job, Record
from rebatch.engine.rows import RowSums
from rebatch.engine.snapshots import list_snapshots
from rebatch.engine.state import Progress
from rebatch.engine.task import lower_is_better
from rebatch.policies import Decision, Policy, Seen
from rebatch.records import write_json


def begin(job: Job, progress: Progress) -> None:
    """Take up a course where the checkpoint has it: what was written after that never was."""
    if job.course is None:
        return
    if job.policy is not None and progress.row is None:
        progress.row = RowSums()
    job.learner.ranks.first_does(lambda: _begin(job, progress))


def adapt(job: Job, progress: Progress) -> Record | None:
    """Take in a finished epoch; where it ends a row, let the policy go on with the course.

    The first rank decides and all follow.  Once the budget is spent, it only tells whether that
    ends a cycle.
    """
    course, row, policy = job.course, progress.row, job.policy
    if course is None or row is None or policy is None:
        return None
    row.finish_epoch(float(progress.tally.loss), progress.tally.samples)
    if progress.epoch + 1 < course.plan.end.epoch:
        return None
    progress.row = RowSums()
    ranks = job.learner.ranks
    curvature = ranks.all_do(lambda: _curvature(job, policy, course, progress.update))
    seen = _seen(job, progress, course, row, curvature)
    progress.seen.append(seen)
    if course.is_whole:
        if ranks.first_does(lambda: policy.completes(progress.seen, course.outlook)):
            _follow(job, course.closed())
        return None
    decision = ranks.first_does(lambda: policy.next(progress.seen, course.outlook))
    _follow(job, course.decided(decision))
    return _record(seen, progress, decision, job.plan.rows[-1], curvature)


def _begin(job: Job, progress: Progress) -> None:
    assert job.course is not None
    write_json(job.folder.plan, job.course.to_dict())
    taken = sum(update <= progress.update for update in job.snapshots)
    for path in list_snapshots(job.folder.snapshots)[taken:]:
        path.unlink()


def _follow(job: Job, course: Course) -> None:
    job.follow(course)
    job.learner.ranks.first_does(lambda: write_json(job.folder.plan, course.to_dict()))


def _curvature(job: Job, policy: Policy, course: Course, update: int) -> Curvature | None:
    """Measure on another random batch each time, the same one wherever the run is resumed."""
    if not policy.wants_eigenvalue(course.plan.rows[-1].batch_size, course.outlook):
        return None
    return measure_curvature(job.learner, seed=update)


def _seen(
    job: Job, progress: Progress, course: Course, row: RowSums, curvature: Curvature | None
) -> Seen:
    eigenvalue = None if curvature is None else curvature.eigenvalue
    validation = _validation(job.learner.task.selects_by, progress.history[-1])
    return course.seen(row.mean_loss, row.noise_scale, eigenvalue, validation)


def _validation(metric: str, value: float) -> float | None:
    """Return a figure of validation data so that lower is better; of test data none.

    >>> _validation("valid_perplexity", 90.0), _validation("validation_accuracy", 90.0)
    (90.0, 10.0)
    """
    if metric.startswith("test_"):
        return None
    return value if lower_is_better(metric) else 100 - value


def _record(
    seen: Seen, progress: Progress, decision: Decision, row: Row, curvature: Curvature | None
) -> Record:
    cost = {} if curvature is None else {"eigenvalue_seconds": round(curvature.seconds, 3)}
    return {
        "kind": "decision",
        "epoch": progress.epoch,
        "update": progress.update,
        "batch_size": seen.batch_size,
        "next_batch_size": row.batch_size,
        "epochs": row.epochs,
        "ends_cycle": decision.ends_cycle,
        "rate_factor": decision.rate_factor,
        "reason": decision.reason,
        "gauges": dict(decision.gauges),
        **cost,
    }
