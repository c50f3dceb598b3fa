"""Schedules and policies as text, both ways: codes, thresholds and calls.

``str`` gives the shortest of the three that a schedule or policy has and `parse` reads it back.
"""

import re
from functools import partial

from rebatch._call import Makers, evaluate
from rebatch.errors import InputError, one_of, shown
from rebatch.policies import Policy, absa, auto, gns, plateau
from rebatch.schedules._combinators import clamp, join, multiple_of, repeat
from rebatch.schedules._constant import constant
from rebatch.schedules._cyclical import cyclical, triangular
from rebatch.schedules._ramps import exponential, linear, polynomial
from rebatch.schedules._schedule import CLOCKS, Clock, Schedule
from rebatch.schedules._staircase import adabatch, milestones, square_wave, steps
from rebatch.schedules._thresholds import SUFFIXES, thresholds
from rebatch.schedules._waves import cosine, cyclic, one_cycle

FORM = "BL, CBS-k[-n][-A|-T], or AUTO, ABSA, GNS or PLATEAU"
_WORD = re.compile(r"([0-9]{1,16})([KMBT]?):([0-9]{1,16})", re.IGNORECASE)
_SHAPES = (
    *(constant, cyclical, triangular, thresholds, milestones, steps, adabatch, square_wave),
    *(polynomial, linear, exponential, cosine, cyclic, one_cycle),
)
_COMBINATORS = (join, repeat, clamp, multiple_of)
_POLICIES = {policy.__name__.upper(): policy for policy in (absa, auto, gns, plateau)}


def parse(text: str, base: int | None = None, *, clock: Clock | None = None) -> Schedule | Policy:
    """Read a schedule or a policy from a code, a threshold string or a call.

    A code needs ``base``, the batch size of its first step; its clock is epochs unless said.
    Thresholds (``0:768 250B:1536``) count samples unless said.  A call names any shape.  The code
    of a policy may be followed by its options.

    >>> parse("CBS-10-3-A", base=128)
    cyclical(128, width=10, steps=3, growth=4)
    >>> parse("0:768 250B:1536")(250_000_000_000)
    1536
    >>> parse("clamp(cyclical(10, width=1), high=50)")
    clamp(cyclical(10, width=1), high=50)
    >>> parse("GNS(share=0.5)", base=10)
    gns(10, share=0.5)
    """
    if not isinstance(text, str):
        raise InputError(f"schedule must be text, got {shown(text)}")
    if clock is not None:
        one_of("clock", clock, CLOCKS)
    stripped = text.strip()
    word, _, options = stripped.partition("(")
    if word.strip().upper() in _POLICIES and (not options or word.isupper()):
        return _parse_policy(stripped, word.strip().upper(), base, clock)
    if "(" in stripped:
        return _parse_call(stripped, clock or "epochs")
    if ":" in stripped:
        return _parse_thresholds(stripped, clock or "samples")
    return _parse_code(stripped, base, clock or "epochs")


def _parse_policy(text: str, word: str, base: int | None, clock: Clock | None) -> Policy:
    if base is None:
        raise InputError(f"base must be given with a policy's code, got none for {text!r}")
    if clock not in (None, "epochs"):
        raise InputError(
            f"clock must be epochs for {word}, which decides after them, got {clock!r}"
        )
    if "(" not in text:
        return _POLICIES[word](base)
    rule = f"schedule must be {word} or {word}(option=value, ...)"
    policy = evaluate(text, {word: partial(_POLICIES[word], base)}, what=rule)
    assert isinstance(policy, Policy)
    return policy


def _parse_code(text: str, base: int | None, clock: Clock) -> Schedule:
    parts = text.upper().split("-")
    if parts[0] in _POLICIES:
        raise _misread(text, 0, f"{parts[0]!r} takes its options as {parts[0]}(...)")
    if parts[0] not in ("BL", "CBS"):
        raise _misread(text, 0, f"{shown(parts[0])} is none of them")
    if base is None:
        raise InputError(f"base must be given with a paper code, got none for {text!r}")
    if parts[0] == "BL":
        if len(parts) > 1:
            raise _misread(text, 1, "nothing may follow BL")
        return constant(base, clock=clock)
    width, count, letter = _read_cycle(text, parts)
    if letter == "T":
        return triangular(base, width=width, steps=count, clock=clock)
    return cyclical(base, width=width, steps=count, growth=4 if letter else 2, clock=clock)


def _read_cycle(text: str, parts: list[str]) -> tuple[int, int, str]:
    """Return width, steps and letter of the parts of a code, "CBS" among them."""
    width = _whole(text, parts, 1, at_least=1, what="width in epochs")
    given = len(parts) > 2 and parts[2] not in ("A", "T")
    count = _whole(text, parts, 2, at_least=2, what="number of steps") if given else 4
    index = 3 if given else 2
    if len(parts) == index:
        return width, count, ""
    if parts[index] not in ("A", "T"):
        raise _misread(text, index, f"{shown(parts[index])} is neither A nor T")
    if len(parts) > index + 1:
        raise _misread(text, index + 1, f"nothing may follow -{parts[index]}")
    return width, count, parts[index]


def _whole(text: str, parts: list[str], index: int, *, at_least: int, what: str) -> int:
    part = parts[index] if len(parts) > index else ""
    number = int(part) if re.fullmatch("[0-9]{1,16}", part) else -1
    if number < at_least:
        rule = f"a {what} must be a whole number of at least {at_least}"
        raise _misread(text, index, f"{rule}, not {shown(part) if part else 'nothing'}")
    return number


def _misread(text: str, index: int, why: str) -> InputError:
    place = len("-".join([*text.split("-")[:index], ""])) + 1
    got = f"got {shown(text)}: at character {place}, {why}"
    return InputError(f"schedule must be {FORM}, {got}")


def _parse_thresholds(text: str, clock: Clock) -> Schedule:
    points = []
    for word in text.split():
        found = _WORD.fullmatch(word)
        if not found:
            rule = "words of the form threshold:size, as in '0:768 250B:1536' (K, M, B, T allowed)"
            raise InputError(f"schedule must be {rule}, got {shown(word)}")
        start, suffix, size = found.groups()
        points.append((int(start) * SUFFIXES.get(suffix.upper(), 1), int(size)))
    return thresholds(points, clock=clock)


def _parse_call(text: str, clock: Clock) -> Schedule | Policy:
    makers: Makers = {
        **{shape.__name__: partial(shape, clock=clock) for shape in _SHAPES},
        **{maker.__name__: maker for maker in (*_COMBINATORS, *_POLICIES.values())},
    }
    rule = "schedule must be a call such as linear(8, 64, length=5)"
    schedule = evaluate(text, makers, what=rule)
    if not isinstance(schedule, Schedule | Policy):
        raise InputError(f"{rule}, got {shown(text)}")
    return schedule
