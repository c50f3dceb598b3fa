"""Recipes: what to run.  Every model and data set of the paper, small studies, the demo."""

from difflib import get_close_matches

from rebatch.errors import InputError
from rebatch.recipes._case import VARIANTS as VARIANTS
from rebatch.recipes._case import Case as Case
from rebatch.recipes._case import case as case
from rebatch.recipes._case import replay as replay
from rebatch.recipes._paper import DEMO as DEMO
from rebatch.recipes._paper import PAPER as PAPER
from rebatch.recipes._paper import STUDIES as STUDIES
from rebatch.recipes._recipe import Recipe as Recipe
from rebatch.recipes._recipe import override as override
from rebatch.recipes._sizes import amount as amount

RECIPES = {recipe.name: recipe for recipe in (*PAPER, *STUDIES, DEMO)}


def find(name: str) -> Recipe:
    """Return the recipe of that name, or offer the nearest one.

    >>> find("l1-ptb").epochs
    39
    """
    if name in RECIPES:
        return RECIPES[name]
    near = get_close_matches(name.lower(), RECIPES, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise InputError(f"recipe must be one of {', '.join(RECIPES)}, got {name!r}{hint}")
