import pytest
import torch

from rebatch.data.sets import load
from rebatch.engine.folders import FolderTask
from rebatch.errors import InputError
from rebatch.recipes import case, find, override
from rebatch.recipes._build import build

CPU = torch.device("cpu")


def built(root, name, *settings, code="CBS-1-2", variant=None, seed=0):
    made = case(override(find(name), settings), code, variant)
    return build(made, seed=seed, device=CPU, data_root=root)


def test_the_plan_is_made_for_the_data_that_is_there(data_root):
    assert built(data_root, "c1-cifar10", "epochs=2").plan.examples == 20
    assert built(data_root, "l1-ptb", "epochs=2", "hidden=4").plan.examples == 1000
    assert built(data_root, "e1-snli-dev", "epochs=2", "hidden=4").plan.examples == 48


def test_batch_norm_groups_are_the_base_or_what_is_asked_for(data_root):
    groups = {
        "base": built(data_root, "c1-cifar10", "cyclical_batch_size=4"),
        "asked": built(data_root, "c1-cifar10", "cyclical_batch_size=4", "norm_batch_size=2"),
        "whole": built(
            data_root, "c1-cifar10", "cyclical_batch_size=4", variant="whole-batch-norm"
        ),
    }
    norms = {name: made.learner.model[2].norm_batch_size for name, made in groups.items()}
    assert norms == {"base": 4, "asked": 2, "whole": None}
    assert {name: made.learner.group for name, made in groups.items()} == {
        "base": 4,
        "asked": 2,
        "whole": 8,
    }
    assert built(data_root, "c4-cifar10").learner.group == 1


def test_a_micro_batch_must_hold_whole_groups(data_root):
    settings = ("cyclical_batch_size=4", "micro_batch_size=6")
    with pytest.raises(InputError) as error:
        built(data_root, "c1-cifar10", *settings)
    assert str(error.value) == (
        "micro_batch_size must be a multiple of 4, the group of batch norm, got 6"
    )
    assert built(data_root, "c4-cifar10", *settings).learner.micro_batch_size == 6


def test_a_holdout_is_cut_from_the_training_images_and_picks_the_epoch(data_root):
    made = built(data_root, "c1-cifar10", "holdout=5")
    task = made.learner.task
    assert made.plan.examples == 15
    assert task.selects_by == "validation_accuracy"
    assert [len(labels) for _, labels in task.held_out.values()] == [5, 4]
    apart = {image.numpy().tobytes() for image in task.held_out["validation"][0]}
    kept = {image.numpy().tobytes() for image in task.loader._tensors[0]}
    assert len(apart) == 5
    assert not apart & kept
    with pytest.raises(InputError, match=r"holdout must leave training images, got 20 of 20"):
        built(data_root, "c1-cifar10", "holdout=20")


@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [
        ("cifar10", [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]),
        ("cifar100", [0.5071, 0.4865, 0.4409], [0.2673, 0.2564, 0.2762]),
    ],
)
def test_images_are_normalised_by_the_figures_of_their_own_data_set(
    data_root, name, mean, deviation
):
    made = case(override(find("c1-cifar10"), [f"data={name}"]), "BL")
    images = load("cifar10", data_root)
    look = build(made, seed=0, device=CPU, data_root=data_root, data=images).learner.task.normalize
    assert look.mean.flatten().tolist() == pytest.approx(mean)
    assert look.std.flatten().tolist() == pytest.approx(deviation)


def test_the_same_seed_starts_from_the_same_weights(data_root):
    def start(seed):
        return built(data_root, "c1-cifar10", seed=seed).learner.model[0].weight

    assert torch.equal(start(1), start(1))
    assert not torch.equal(start(1), start(2))


@pytest.mark.parametrize("how", ["default", "xavier", "msra", "orthogonal", "lsuv", "gaussian-0.1"])
def test_every_initialisation_can_be_asked_for(data_root, how):
    model = built(data_root, "c1-cifar10", f"initialization={how}").learner.model
    bias = float(model[0].bias.detach().abs().sum())
    assert (bias == 0) == (how != "default")


@pytest.mark.parametrize("name", ["c1-cifar10", "i1-imagenet"])
def test_lsuv_starts_from_the_same_weights_in_double_precision(data_root, name):
    first = [
        next(
            built(
                data_root, name, "initialization=lsuv", f"precision={each}"
            ).learner.model.parameters()
        )
        for each in ("fp32", "fp64")
    ]
    assert first[1].dtype == torch.float64
    assert torch.equal(first[0].double(), first[1])


def test_the_initialisation_study_starts_from_its_gaussian(data_root):
    model = built(data_root, "c1-initialization").learner.model
    assert model[9].weight.std().item() == pytest.approx(0.1, rel=0.02)


def test_every_parameter_of_a_language_model_starts_uniform_where_it_is_asked_to(data_root):
    model = built(data_root, "l1-ptb", "hidden=50", "initialization=uniform-0.05").learner.model
    largest = [weight.abs().max().item() for weight in model.parameters()]
    assert len(largest) == 11  # embedding, decoder and its bias; two matrices and biases a layer
    assert largest == pytest.approx([0.05] * 11, rel=0.3)
    assert max(largest) <= 0.05


def test_the_embedding_of_esim_is_frozen_and_left_to_no_optimiser(data_root):
    learner = built(data_root, "e1-snli", "hidden=4").learner
    assert not learner.model.embedding.weight.requires_grad
    held = {id(p) for group in learner.optimizer.param_groups for p in group["params"]}
    assert id(learner.model.embedding.weight) not in held
    trained = built(data_root, "e1-snli", "hidden=4", "form=chen").learner
    assert trained.model.embedding.weight.requires_grad


def test_crops_of_imagenet_depend_on_the_seed(data_root):
    crops = [built(data_root, "i1-imagenet", seed=seed).learner.task.train[0][0] for seed in (0, 1)]
    assert crops[0].shape == crops[1].shape
    task = built(data_root, "i1-imagenet", seed=3).learner.task
    assert isinstance(task, FolderTask)
    assert task.train.seed == 3


def test_snapshots_fall_due_where_the_recipe_says(data_root):
    settings = ("epochs=4", "cyclical_batch_size=4")
    assert list(built(data_root, "c1-cifar10", *settings).snapshots) == [8, 16]
    steps = built(data_root, "c1-cifar10", *settings, variant="step-snapshots")
    assert list(steps.snapshots) == [5, 8, 13, 16]
    beside = built(
        data_root,
        "c1-cifar10",
        *("epochs=4", "baseline_batch_size=5"),
        code="BL",
        variant="snapshots-as-CBS-1-2",
    )
    assert list(beside.snapshots) == [8, 16]
