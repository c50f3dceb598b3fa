"""Stairs drawn in a terminal with block characters, on a doubling scale."""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

from rebatch.report._stairs import Stairs
from rebatch.report._values import written


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of a drawing; ``blocks`` rise from empty to full in eighths."""

    blocks: str = " ▁▂▃▄▅▆▇█"
    shade: str = "░"
    """Where stairs are too narrow for a character each: from the lowest to the highest."""
    side: str = "│"
    label: str = "┤"
    corner: str = "└"
    floor: str = "─"
    end: str = "┴"


UNICODE = Glyphs()
ASCII = Glyphs("    #####", ":", "|", "+", "+", "-", "|")


@dataclass(frozen=True)
class Drawing:
    """Several stairs over one pair of scales, so that they can be compared."""

    stairs: tuple[Stairs, ...]
    unit: str
    width: int
    """Characters a line may have."""
    height: int
    """Lines that the stairs may have, the axis not counted."""
    glyphs: Glyphs = UNICODE

    @cached_property
    def gutter(self) -> int:
        """Characters of the labels on the left, the vertical axis included."""
        return 1 + max(len(f"{size:,}") for stairs in self.stairs for size in stairs.sizes)

    @cached_property
    def columns(self) -> int:
        """Characters along the horizontal axis: whole ones for each stair where that fits."""
        room = max(10, self.width - self.gutter)
        edges = [edge for stairs in self.stairs for edge in stairs.edges]
        if all(float(edge).is_integer() for edge in edges):
            shares = int(max(edges)) // math.gcd(*map(int, edges))
            if shares <= room:
                return room // shares * shares
        return room

    @cached_property
    def total(self) -> float:
        """The length of the longest training."""
        return max(stairs.total for stairs in self.stairs)

    def lines(self, stairs: Stairs) -> list[str]:
        """Return the stairs with their vertical labels and an axis with the cycle ends."""
        levels = [self._levels(stairs, column) for column in range(self.columns)]
        labels = self._labels(stairs)
        rows = range(-(-self._top(max(s.high for s in self.stairs)) // 8))
        lines = [self._line(levels, row, labels.get(row, "")) for row in rows]
        return [*reversed(lines), self._axis(stairs)]

    def footer(self) -> str:
        """Return the labels of the horizontal axis."""
        end = f"{written(self.total)} {self.unit}"
        return " " * self.gutter + "0" + end.rjust(self.columns - 1)

    def _line(self, levels: list[tuple[int, int]], row: int, label: str) -> str:
        cells = (self._cell(low - 8 * row, high - 8 * row) for low, high in levels)
        side = self.glyphs.label if label else self.glyphs.side
        return (label.rjust(self.gutter - 1) + side + "".join(cells)).rstrip()

    def _cell(self, low: int, high: int) -> str:
        block = self.glyphs.blocks[min(8, max(0, low))]
        return self.glyphs.shade if low <= 0 < high else block

    def _axis(self, stairs: Stairs) -> str:
        marks = [self.glyphs.floor] * self.columns
        for end in stairs.ends:
            marks[max(0, round(end / self.total * self.columns) - 1)] = self.glyphs.end
        return " " * (self.gutter - 1) + self.glyphs.corner + "".join(marks)

    def _labels(self, stairs: Stairs) -> dict[int, str]:
        """Return the batch size to write beside each line; the largest and smallest come first."""
        sizes = sorted(set(stairs.sizes), reverse=True)
        found: dict[int, str] = {}
        for size in (sizes[0], sizes[-1], *sizes):
            found.setdefault((self._top(size) - 1) // 8, f"{size:,}")
        return found

    def _top(self, size: int) -> int:
        """Return how high a size stands, in eighths of a line: equal stairs for doublings."""
        return max(1, round((math.log2(size / self._low) + 1) * self._doubling))

    @cached_property
    def _low(self) -> int:
        return min(stairs.low for stairs in self.stairs)

    @cached_property
    def _doubling(self) -> float:
        doublings = math.log2(max(stairs.high for stairs in self.stairs) / self._low)
        each = 8 * self.height / (max(doublings, 1) + 1)
        return min(8, math.floor(each)) if each >= 2 else each

    def _levels(self, stairs: Stairs, column: int) -> tuple[int, int]:
        """Return the lowest and the highest eighth that the stairs reach in a column."""
        left, right = (self.total * edge / self.columns for edge in (column, column + 1))
        middle, slack = (left + right) / 2, 1e-9 * self.total
        if middle > stairs.total:
            return 0, 0
        first = bisect_right(stairs.edges, left + slack) - 1
        last = min(bisect_left(stairs.edges, right - slack), len(stairs.sizes))
        if last - first <= 2:  # at most one edge inside: the column shows one side of it
            first = min(bisect_right(stairs.edges, middle), len(stairs.sizes)) - 1
            last = first + 1
        low, high = (self._top(pick(stairs.sizes[first:last])) for pick in (min, max))
        return (low, high) if high - low > 8 else (high, high)
