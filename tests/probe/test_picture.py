from rebatch.probe import design, judge
from rebatch.probe._picture import picture
from rebatch.recipes import find

DESIGN = design(find("digits"), warm_up=4, largest=128)


def verdict(*losses: float | None):
    records = [
        {"batch_size": size, "repeat": repeat, "updates": 9, "loss": loss}
        | {"gradient_signal": 1.0, "gradient_variance": 40.0}
        for size, loss in zip(DESIGN.sizes, losses, strict=True)
        for repeat in range(2)
    ]
    return judge(DESIGN, records)


def test_a_picture_names_the_recipe_and_the_limit():
    svg = picture(verdict(1.0, 1.0, 2.0, 9.0), "svg").decode()
    assert "<!-- digits, after 4 epochs: doubling is free up to 32 -->" in svg
    assert "<!-- gradient noise scale, 40 -->" in svg
    assert "lost its numbers" not in svg


def test_the_same_probe_gives_the_same_file():
    assert picture(verdict(1.0, 1.0, 2.0, 9.0), "svg") == picture(
        verdict(1.0, 1.0, 2.0, 9.0), "svg"
    )


def test_without_a_limit_the_title_says_so():
    svg = picture(verdict(1.0, 1.0, 1.0, 1.0), "svg").decode()
    assert "<!-- digits, after 4 epochs: doubling is free up to 128 and more -->" in svg


def test_where_nothing_is_free_the_title_says_so():
    svg = picture(verdict(1.0, 2.0, 2.0, 9.0), "svg").decode()
    assert "<!-- digits, after 4 epochs: no doubling is free -->" in svg


def test_branches_without_numbers_are_marked():
    svg = picture(verdict(1.0, 1.0, 2.0, None), "svg").decode()
    assert "<!-- lost its numbers -->" in svg
    assert picture(verdict(None, None, None, None), "png").startswith(b"\x89PNG")
