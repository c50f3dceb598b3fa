"""How much training data each set has, so that a plan needs no data on the disk."""

from rebatch.errors import InputError
from rebatch.recipes._recipe import Recipe

TOKENS = {"ptb": 929_589, "wikitext-2": 2_088_628}
EXAMPLES = {
    ("cifar10", "train"): 50_000,
    ("cifar100", "train"): 50_000,
    ("imagenet", "train"): 1_281_167,
    ("snli", "train"): 549_367,
    ("snli", "dev"): 9_842,
    ("multinli", "train"): 392_702,
    ("sick", "train"): 4_500,
    ("digits", "train"): 1_437,
}
ALSO = {("sick", "train"): ("SemEval 2014's three files", "the one of rebatch data get", 4_439)}
"""Of what was counted, what else is official, and how much that has."""


def amount(recipe: Recipe) -> dict[str, int | bool]:
    """Return the arguments of `rebatch.plan` that say how much data there is."""
    if recipe.data in TOKENS:
        return {"tokens": TOKENS[recipe.data], "bptt": recipe.bptt}
    known = EXAMPLES.get((recipe.data, recipe.train_split))
    if known is None:
        raise InputError(
            f"data must be a set with a known size, got {recipe.data!r} ({recipe.train_split})"
        )
    return {"examples": known - recipe.holdout, "drop_last": recipe.drop_last}


def caveats(recipe: Recipe) -> tuple[str, ...]:
    """Return what is to be known about the amount, where a data set has several official ones."""
    if (recipe.data, recipe.train_split) not in ALSO:
        return ()
    counted, other, examples = ALSO[recipe.data, recipe.train_split]
    return (
        f"{recipe.data} is planned as {counted} have it; training goes by what is there: "
        f"{other} has {examples:,} examples",
    )
