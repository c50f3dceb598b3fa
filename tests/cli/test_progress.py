import io
import re

from rich.console import Console

from rebatch import parse, plan
from rebatch._amount import Examples
from rebatch._course import Course
from rebatch.cli._progress import TrainingBar
from rebatch.engine.job import Job
from rebatch.engine.state import Progress
from rebatch.policies import Decision, gns


def shown(terminal: bool, width: int = 140) -> str:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=width)
    made = plan(parse("CBS-1-2", 10), epochs=2, examples=80)
    with TrainingBar("digits CBS-1-2", console=console) as bar:
        watch = bar.follow(Job(None, made, None, None))  # nothing but the plan is looked at
        for update in range(1, 13):
            watch(Progress(epoch=update // 9, update=update), 0.05)
    return screen.getvalue()


def test_the_bar_tells_batch_size_cycle_rate_and_speed():
    text = shown(terminal=True)
    assert "digits CBS-1-2" in text
    assert "epoch 2/2 · batch 20 · cycle 1 · rate 0.05 · " in text
    assert "samples/s" in text
    assert "100%" in text


def test_80_columns_hold_the_bar_the_time_left_and_where_it_stands():
    text = shown(terminal=True, width=80)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    assert re.search(r"digits CBS-1-2 ━+ 100% 0:00:00\n", plain)
    assert "epoch 2/2 · batch 20 · cycle 1 · rate 0.05 · " in text
    assert "samples/s" in text


def test_nothing_is_drawn_where_nobody_looks():
    assert shown(terminal=False) == ""


def test_the_bar_tells_what_a_policy_decided_last_and_why():
    screen = io.StringIO()
    course = Course.begun(gns(10), Examples(80), 2)
    job = Job(None, course.plan, None, None, course=course, policy=gns(10))
    console = Console(file=screen, force_terminal=True, width=140)
    with TrainingBar("digits GNS", console=console) as bar:
        watch = bar.follow(job)
        watch(Progress(epoch=0, update=8), 0.05)
        job.course = course.decided(Decision(20, "growing is free"))
        job.plan = job.course.plan
        watch(Progress(epoch=1, update=12), 0.05)
    text = screen.getvalue()
    assert "epoch 2/2 · batch 20 · cycle 1 · rate 0.05 · " in text
    assert "growing is free" in text
    assert "100%" in text


def test_the_bar_of_a_plan_trained_again_ends_where_the_plan_does():
    """A run that was stopped leaves a plan that is shorter than its budget."""
    screen = io.StringIO()
    course = Course.begun(gns(10), Examples(80), 40)
    with TrainingBar("digits GNS", console=Console(file=screen, force_terminal=True)) as bar:
        watch = bar.follow(Job(None, course.plan, None, None, course=course))
        watch(Progress(epoch=0, update=8), 0.05)
    assert "epoch 1/1 · batch 10" in screen.getvalue()
