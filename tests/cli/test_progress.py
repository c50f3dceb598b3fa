import io

from rich.console import Console

from rebatch import parse, plan
from rebatch.cli._progress import TrainingBar
from rebatch.engine.state import Progress


def shown(terminal: bool) -> str:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=140)
    made = plan(parse("CBS-1-2", 10), epochs=2, examples=80)
    with TrainingBar("digits CBS-1-2", console=console) as bar:
        watch = bar.follow(made)
        for update in range(1, 13):
            watch(Progress(epoch=update // 9, update=update), 0.05)
    return screen.getvalue()


def test_the_bar_tells_batch_size_cycle_rate_and_speed():
    text = shown(terminal=True)
    assert "digits CBS-1-2" in text
    assert "epoch 2/2 · batch 20 · cycle 1 · rate 0.05 · " in text
    assert "samples/s" in text
    assert "100%" in text


def test_nothing_is_drawn_where_nobody_looks():
    assert shown(terminal=False) == ""
