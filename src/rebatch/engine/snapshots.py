"""Snapshots: the weights at the end of each cycle, before the batch size drops."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from safetensors import SafetensorError
from torch import nn

from rebatch import Plan, Row
from rebatch.engine.seal import read_tensors, sealed_tensors
from rebatch.errors import InputError, RunError, one_of
from rebatch.records import write_bytes

FINAL = "final.safetensors"
PLACES = ("cycle-end", "top-step-end", "step-end")


def snapshot_updates(plan: Plan, place: str = "cycle-end") -> dict[int, int]:
    """Return after how many updates each snapshot is due, and its number.

    ``cycle-end`` is the paper's; a cycle that training cuts short gives none.  ``top-step-end`` is
    where the largest batch of each cycle ends, ``step-end`` where any step ends.
    """
    one_of("snapshot_at", place, PLACES)
    whole = plan.rows if plan.rows[-1].ends_cycle else plan.rows[:-1]
    rows = {
        "cycle-end": [row for row in whole if row.ends_cycle],
        "top-step-end": _tops(plan, whole),
        "step-end": _step_ends(plan),
    }[place]
    return _numbered(row.first_update + row.updates for row in rows)


def _step_ends(plan: Plan) -> list[Row]:
    """Return the last row of each step, of which one that a policy made may have several."""
    last, changes = plan.rows[-1], pairwise(plan.rows)
    ended = [row for row, after in changes if (row.cycle, row.step) != (after.cycle, after.step)]
    return [*ended, last] if last.ends_cycle else ended


def _tops(plan: Plan, whole: Sequence[Row]) -> list[Row]:
    """Return the last row with the largest batch of each cycle, if it is whole."""
    tops: dict[int, Row] = {}
    for row in plan.rows:
        known = tops.get(row.cycle)
        if known is None or row.batch_size >= known.batch_size:
            tops[row.cycle] = row
    return [row for row in tops.values() if row in whole]


def snapshot_epochs(plan: Plan, epochs: tuple[int, ...]) -> dict[int, int]:
    """Return the snapshots at given numbers of finished epochs: for a baseline beside a cycle."""
    for epoch in epochs:
        if not 0 < epoch <= plan.epochs:
            raise InputError(f"snapshot epochs must be from 1 to {plan.epochs}, got {epoch}")
    return _numbered(plan.first_update_of(epoch) for epoch in epochs)


def _numbered(updates: Iterable[int]) -> dict[int, int]:
    """Number the updates in order; nothing is due before the first one."""
    return {update: number for number, update in enumerate(sorted(set(updates) - {0}))}


def snapshot_name(number: int) -> str:
    """Return the file name of a snapshot."""
    return f"cycle-{number:03}.safetensors"


def save_snapshot(path: Path, model: nn.Module) -> None:
    """Write the model's weights and buffers, with their checksum."""
    tensors = {
        name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()
    }
    write_bytes(path, sealed_tensors(tensors))


def load_snapshot(path: Path, model: nn.Module) -> None:
    """Read weights into a model built alike."""
    try:
        model.load_state_dict(read_tensors(path.read_bytes()))
    except FileNotFoundError:
        raise RunError(f"{path} is missing") from None
    except (SafetensorError, ValueError, RuntimeError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise RunError(f"{path} does not hold a snapshot of this model: {reason}") from None


def list_snapshots(folder: Path) -> list[Path]:
    """Return the snapshots of a run in order."""
    return sorted(folder.glob("cycle-*.safetensors"))


def list_members(folder: Path, *, last: int | None = None) -> list[Path]:
    """Return what a run's ensemble is made of, or the last of them; nothing without a snapshot.

    Where training went on after the last snapshot, its final weights are the last member: a cycle
    that is cut short ends with them.
    """
    found, final = list_snapshots(folder), folder / FINAL
    if found and final.exists() and found[-1].read_bytes() != final.read_bytes():
        found.append(final)
    return found if last is None else found[-last:]
