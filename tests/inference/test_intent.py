"""A move says where its source is not, and where the rest of its batch is wanted."""

import pytest
from given import host_reads, met, settled

EPOCH = """
    def epoch(model, loader, {criterion}, device):
        model.to(device)
        for images, labels in loader:
            {move}
            out = model(images)
            loss = {criterion}(out, labels)
            {after}
"""


@pytest.mark.parametrize(
    ("move", "criterion", "after", "found"),
    [
        ("images = images.to(device)", "crit", "loss.backward()", 1),
        ("images = images.to(device)", "criterion", "log(loss)", 1),
        ("images = images.to(device)", "meter", "log(loss)", 0),  # it may read them anywhere
        ("images, labels = images.to(device), labels.to(device)", "crit", "loss.backward()", 0),
        ("pass", "crit", "loss.backward()", 0),  # nothing was moved: the loader may do it
    ],
)
def test_the_rest_of_a_moved_batch_is_wanted_there_too(move, criterion, after, found):
    code = EPOCH.format(move=move, criterion=criterion, after=after)
    clashes = [each for each in met(code) if "labels@cpu" in each and "likely" in each]
    assert len(clashes) == found


@pytest.mark.parametrize(
    ("other", "confidence"), [("rows.to(device).exp()", "possible"), ("rows.exp()", "likely")]
)
def test_a_move_on_another_path_says_that_its_source_is_on_the_host(other, confidence):
    code = f"""
    class Net(nn.Module):
        pass

    def scaled(rows: torch.Tensor, fast, device):
        if fast:
            return {other}
        return rows * torch.arange(4.0)
    """
    assert [each.rpartition(" ")[2] for each in met(code)] == [confidence]


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("x - torch.arange(3)", 1),
        ("torch.arange(3) * x", 1),
        ("x == torch.arange(3)", 1),
        ("call(x, torch.arange(3))", 0),  # a module, as far as this shows
    ],
)
def test_what_is_moved_and_computed_with_is_a_tensor(use, found):
    code = f"""
    def residual(x, device):
        x = x.to(device)
        return {use}
    """
    assert len(met(code)) == found


@pytest.mark.parametrize(
    ("read", "confidence"),
    [
        ("t.detach().view(-1).numpy()", "likely"),
        ("t.view(-1).numpy()", "possible"),
        ("t.detach().cpu().numpy()", None),
    ],
)
def test_who_detaches_a_tensor_has_training_in_mind(read, confidence):
    reads = host_reads(settled(f"def packed(t):\n    return {read}\n"))
    assert [each.rpartition(" ")[2] for each in reads] == ([confidence] if confidence else [])


@pytest.mark.parametrize(
    ("norm", "confidence"),
    [
        ("nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "likely"),
        ("nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)", "likely"),
        ("sum(p.grad.norm() for p in model.parameters())", "likely"),
    ],
)
def test_the_norm_of_gradients_is_where_they_train(norm, confidence):
    code = f"""
    import numpy as np

    def is_finite(model):
        norm = {norm}
        return not np.isinf(norm)
    """
    assert [each.rpartition(" ")[2] for each in host_reads(settled(code))] == [confidence]


@pytest.mark.parametrize(
    ("moved", "other", "found"),
    [
        ("x.exp().to(device)", "x.log()", 1),
        ("x.exp().cuda()", "x.log()", 0),  # the other operand is where the caller chose
        ("x.exp().to(other)", "x.log()", 0),
        ("x.exp().to(device)", "x.log().to(device)", 0),
        ("x.exp().to(device)", "torch.ones(3, device=device)", 0),
        ("x.exp()", "x.log()", 0),
    ],
)
def test_what_one_branch_moves_another_does_not_leave_there(moved, other, found):
    code = f"""
    def change(x: torch.Tensor, wide, device, other):
        if wide:
            y = {moved}
        else:
            y = {other}
        return y + torch.ones(3, device=device)
    """
    assert len([each for each in met(code) if each.endswith("likely")]) == found


@pytest.mark.parametrize(
    ("rows", "use", "found"),
    [
        ("order.to(device)", "labels[rows].to(device)", 1),
        ("order.to(device)", "labels[rows[:8]].to(device)", 1),
        ("torch.arange(9, device=device)", "labels[rows].to(device)", 1),
        ("order", "labels[rows].to(device)", 0),
        ("order.to(device)", "labels[rows]", 0),  # the labels may be there
        ("order.to(other)", "labels[rows].to(device)", 0),
        ("order.to(device)", "labels.to(device)[rows]", 0),
    ],
)
def test_a_table_is_not_where_its_rows_are_moved_to(rows, use, found):
    code = f"""
    def batch(labels, order, device, other):
        rows = {rows}
        return {use}
    """
    assert len(met(code)) == found


DECODER = """
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 3)

    def decode(self, targets):
        {move}
        return self.head(targets)

    def forward(self, targets: torch.Tensor):
        return self.decode(targets + torch.ones(3))
"""


@pytest.mark.parametrize(
    ("move", "found"),
    [
        ("targets = targets.to(self.device)", "possible"),
        ("targets = targets.to(torch.float32)", "certain"),
    ],
)
def test_a_module_that_brings_an_input_home_is_handed_it_from_the_host(move, found):
    (meeting,) = met(DECODER.format(move=move))
    assert meeting.endswith(found), meeting


@pytest.mark.parametrize(
    ("beside", "found"),
    [
        ("torch.arange(3.0)", 1),
        ("torch.arange(3.0, **where)", 0),
        ("torch.arange(3.0).to(**where)", 0),
        ("torch.arange(3.0, **other)", 0),  # who knows what is among those
    ],
)
def test_keyword_arguments_that_move_a_tensor_name_a_device(beside, found):
    code = f"""
    def shifted(x, other, **where):
        x = x.to(**where)
        return x + {beside}

    def elsewhere(y, **where):
        return torch.ones(3, **where) + torch.arange(3.0)  # here no move shows what is among them
    """
    assert len(met(code)) == found


def test_keyword_arguments_of_an_object_are_the_same_in_all_of_its_methods():
    code = """
    class Search:
        def start(self, x):
            return x.to(**self.where)

        def grid(self):
            return torch.ones(3, **self.where) + torch.arange(3.0)
    """
    assert len(met(code)) == 1


@pytest.mark.parametrize("use", ["x.sum(0)", "x.reshape(-1)", "x.argmax(-1)"])
def test_what_is_moved_and_reduced_is_a_tensor(use):
    code = f"""
    def looked_up(x, device):
        {{move}}
        return torch.arange(9)[{use}]
    """
    (found,) = met(code.format(move="x = x.to(device)"))
    assert found.endswith("@δ(device) certain")
    assert met(code.format(move="pass")) == []  # as far as this shows, an array


def test_what_a_distribution_is_asked_for_is_a_tensor():
    code = """
    def density(z, scale):
        prior = torch.distributions.Normal(torch.zeros(4{device}), torch.ones(4{device}))
        return prior.log_prob(z)
    """
    (found,) = met(code.format(device=""))
    assert found.endswith("z@δ(z) likely")
    assert met(code.format(device=", device=z.device")) == []


@pytest.mark.parametrize(
    ("table", "mask", "confidence"),
    [
        ('torch.zeros_like(x, device="cpu")', "x > 0", "likely"),  # else nobody had to say so
        ('torch.zeros(3, 3, device="cpu")', "x > 0", "possible"),
        ('torch.zeros(3, 3, device="cpu")', "(table > 0).to(x.device)", "likely"),
        ('torch.zeros(3, 3, device="cpu")', "rows.to(x.device)", "possible"),  # from anywhere
    ],
)
def test_what_goes_from_the_host_to_an_input_says_that_this_is_elsewhere(table, mask, confidence):
    code = f"""
    def picked(x: torch.Tensor, rows: torch.Tensor):
        table = {table}
        return table[{mask}]
    """
    assert [each.rpartition(" ")[2] for each in met(code)] == [confidence]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("torch.zeros(3, device=pick_device())", 1),
        ("torch.zeros(3).to(cards.best_device('big'))", 1),
        ("torch.zeros(3, device=pick())", 0),  # nothing says that it is a device
        ("torch.zeros(3).to(torch.get_default_device())", 0),
        ("torch.zeros(3).to(pick_dtype())", 0),
    ],
)
def test_a_function_out_of_sight_that_is_named_for_a_device_chooses_one(made, found):
    code = f"""
    from ours import cards, pick, pick_device, pick_dtype
    total = {made}
    total = total + torch.arange(3)
    """
    assert len(met(code)) == found


def test_who_says_where_a_generator_is_made_means_another_place_than_the_default():
    code = """
    from ours import pick_device
    rng = torch.Generator(device=pick_device())
    torch.randint(0, 9, (3,), generator=rng{})
    """
    assert len(met(code.format(""))) == 1
    assert met(code.format(", device=pick_device()")) == []
