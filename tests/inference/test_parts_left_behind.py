"""A part of what a caller hands in is needed where the function brings another part of it."""

import pytest
from given import met

STEP = """
def step(net, data, device):
    {moved}
    return F.cross_entropy(net(image), {label})
"""


@pytest.mark.parametrize(
    ("moved", "label"),
    [
        ("image = data['image'].to(device)", "data['label']"),
        ("image = data[0].to(device)", "data[1]"),
        ("image = data.image.to(device)", "data.label"),
        ("image, label = data\n    image = image.to(device)", "label"),
        # in place, and no other part
        ("data['image'] = data['image'].to(device)\n    image = data['image']", "data['label']"),
    ],
)
def test_what_is_moved_of_a_batch_says_where_the_rest_is(moved, label):
    (found,) = met(STEP.format(moved=moved, label=label))
    assert found.startswith(f"{label}@δ(data)") and found.endswith("δ(device) likely")


@pytest.mark.parametrize(
    ("moved", "label"),
    [
        # all parts are moved, or the whole
        (
            "image = data['image'].to(device)\n    data['label'] = data['label'].to(device)",
            "data['label']",
        ),
        ("data = data.to(device)\n    image = data.image", "data.label"),
        (
            "data = {k: v.to(device) for k, v in data.items()}\n    image = data['image']",
            "data['label']",
        ),
        # to where the rest is
        ("image = data['image'].to(data['label'].device)", "data['label']"),
        # the function fills the other part itself
        (
            "image = data['image'].to(device)\n    data['label'] = net.guess(image)",
            "data['label']",
        ),
    ],
)
def test_parts_that_come_along_are_no_contradiction(moved, label):
    assert met(STEP.format(moved=moved, label=label)) == []


@pytest.mark.parametrize(
    "inputs",
    [
        'inputs = {"ids": batch[0].to(device), "types": batch[1]}',
        'inputs = {"ids": batch["ids"].to(device), "types": batch["types"]}',
        'inputs = {"ids": batch[0].to(device)}; inputs["types"] = batch[1]',
        "inputs = dict(ids=batch[0].to(device), types=batch[1])",
        'inputs = {"ids": batch[0].to(device), "types": batch[1] if typed else None}',
    ],
)
def test_what_is_spread_by_name_is_given_as_if_it_were_written_there(inputs):
    code = f"""
    def train(model, loader, device, typed):
        for batch in loader:
            {inputs}
            model(**inputs)[0].backward()
    """
    (found,) = met(code)
    assert found.endswith("likely")
    types = next(each for each in ('batch["types"]', "batch[1]") if each in inputs)
    assert met(code.replace(types, f"{types}.to(device)")) == []


def test_a_part_that_may_be_a_number_is_only_possible():
    code = """
    def scaled(net, data, device):
        image = data["image"].to(device)
        return image.exp() * data["scale"]
    """
    assert [each.endswith("possible") for each in met(code)] == [True]


def test_a_framework_that_moves_batches_has_moved_all_of_them():
    code = STEP.format(moved="image = data['image'].to(device)", label="data['label']")
    assert met(f"from accelerate import Accelerator\n{code}") == []


def test_what_a_loader_yields_is_followed_into_methods():
    code = """
    class Trainer:
        def __init__(self, net, loader, device):
            self.net, self.loader, self.device = net.to(device), loader, device

        def distance(self, found, alike):
            return (found * alike).mean()

        def train(self):
            for left, alike in self.loader:
                left = left.to(self.device)
                self.distance(self.net(left), alike)
    """
    (found,) = met(code)
    assert found.startswith("alike@cpu")
