"""DataLoaders yield host tensors, whatever the dataset holds."""

import pytest
from given import given, met, moves, revealed

LOADER = "from torch.utils.data import DataLoader\nloader = DataLoader(dataset, batch_size=4)\n"
NET = "net = nn.Linear(3, 3).cuda()\n"


@pytest.mark.parametrize(
    "head",
    [
        "for x, y in loader:",
        "for i, (x, y) in enumerate(loader):",
        "for x, y in iter(loader):",
    ],
)
def test_a_batch_is_on_the_host(head):
    assert revealed(f"{LOADER}{head}\n    reveal(x + 1)") == ["cpu"]


def test_one_batch_by_next():
    assert revealed(f"{LOADER}x, y = next(iter(loader))\nreveal(x + 1)") == ["cpu"]


def test_a_batch_meets_the_module():
    assert met(f"{LOADER}{NET}for x, y in loader:\n    net(x)") == [
        "input: x@cpu net net@cuda certain"
    ]


def test_a_loader_is_known_by_its_name():
    assert met(f"{NET}for x, y in train_loader:\n    net(x)") == [
        "input: x@cpu net net@cuda certain"
    ]


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("streams.Stream(16)", 0),  # it may make its batches anywhere
        ("Stream(16)", 0),
        ("FastLoader(16)", 1),
        ("make_data(16)", 1),
    ],
)
def test_what_is_called_a_loader_and_made_of_another_class_is_unknown(made, count):
    code = f"""
    import streams
    from streams import FastLoader, Stream, make_data

    net = nn.Linear(3, 3).cuda()
    dataloader = {made}
    dataloader = iter(dataloader)
    for _ in range(5):
        batch = next(dataloader)
        net(batch["x"])
    """
    assert len(met(code)) == count


def test_the_target_that_stays_on_the_host_meets_the_output():
    assert met(
        f"""{NET}
for x, y in train_loader:
    x = x.cuda()
    loss = F.mse_loss(net(x), y)
"""
    ) == ["y@cpu F.mse_loss net(x)@cuda certain"]


def test_a_loop_that_moves_its_batch_is_right():
    assert (
        met(
            f"""{NET}
for x, y in train_loader:
    x, y = x.cuda(), y.cuda()
    loss = F.mse_loss(net(x), y)
"""
        )
        == []
    )


def test_in_a_function_model_and_batch_meet_on_the_callers_device():
    assert met(
        """
        def train(model, loader, device):
            model.to(device)
            for x, y in loader:
                out = model(x)
        """
    ) == ["input: x@cpu model model@δ(device) likely"]  # a model out of sight may move its inputs


@pytest.mark.parametrize(
    ("read", "pinned"),
    [("x", True), ("x.to(torch.bfloat16)", False), ("x.type(torch.half)", False)],
)
def test_a_conversion_is_in_memory_that_nobody_has_pinned(read, pinned):
    code = f"""
    import torch
    from torch.utils.data import DataLoader

    for x in DataLoader(dataset, batch_size=4, pin_memory=True):
        {read}.cuda()
    """
    assert given(code).moves[-1].subject.pinned is pinned


@pytest.mark.parametrize(("pin", "pinned"), [("True", True), ("False", False)])
def test_a_loader_that_pins_yields_pinned_batches(pin, pinned):
    facts = given(
        f"""
        loader = torch.utils.data.DataLoader(dataset, pin_memory={pin})
        for x, y in loader:
            x = x.cuda(non_blocking=True)
        """
    )
    assert moves(facts) == ["x: cpu -> cuda non-blocking"]
    [move] = facts.moves
    assert (move.subject.pinned, move.subject.pageable) == (pinned, not pinned)


@pytest.mark.parametrize(
    ("pipeline", "on_host"),
    [
        ("T.Compose([T.ToTensor(), T.Lambda({})])", True),
        ("T.Compose([T.RandomApply([T.Lambda({})])])", True),
        ("Mapped({})", False),
    ],
)
def test_a_pipeline_of_transforms_works_on_the_host(pipeline, on_host):
    turned = pipeline.format("lambda image: image.index_select(0, torch.LongTensor([2, 1, 0]))")
    found = given(f"""
        from torchvision import transforms as T
        turn = {turned}
        crop = T.Compose([T.Lambda(print)])
    """)
    assert len(found.meetings) == (not on_host)


@pytest.mark.parametrize(
    ("option", "more", "found"),
    [
        ("collate_fn=self.sample", "", 0),
        ("shuffle=True", "", 1),
        ("collate_fn=self.sample", "    def forward(self, x):\n        return self.walk(x)", 1),
    ],
)
def test_what_only_a_collate_fn_calls_works_on_the_host(option, more, found):
    code = f"""
from torch.utils.data import DataLoader

class Walks(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = torch.tensor([1, 2, 3])

    def loader(self):
        return DataLoader(range(3), {option})

    def sample(self, batch):
        return self.walk(torch.tensor(batch))

    def walk(self, batch: torch.Tensor):
        return batch + self.offset

{more}
"""
    assert len(met(code)) == found


@pytest.mark.parametrize(("base", "found"), [("torch.utils.data.DataLoader", 0), ("object", 1)])
def test_a_loader_of_the_projects_own_works_on_the_host(base, found):
    code = f"""
    class Batches({base}):
        def order(self, nodes: torch.Tensor):
            return nodes + torch.arange(nodes.size(0))
    """
    assert len(met(code)) == found


@pytest.mark.parametrize(
    ("data", "found"),
    [("dataset[0]", ["input: batch.x@cpu net net@cuda certain"]), ('dataset[0].to("cuda")', [])],
)
def test_a_loader_over_data_that_was_moved_yields_parts_of_it(data, found):
    code = f"""
from graphs import NeighborLoader
{NET}
loader = NeighborLoader({data}, batch_size=4)
for batch in loader:
    net(batch.x)
"""
    assert met(code) == found


@pytest.mark.parametrize(
    ("batch", "inputs", "moved"),
    [
        ("batch", "batch", []),
        ("batch, y", "batch", ["batch"]),
        ("batch", "batch.view(-1)", ["batch"]),
    ],
)
def test_a_batch_that_the_model_takes_whole_may_move_in_place(batch, inputs, moved):
    code = f"""
    def train(loader, model, device):
        for {batch} in loader:
            batch.to(device)
            model({inputs})
    """
    assert [m.subject.name for m in given(code).moves if m.discarded] == moved


def test_a_loader_over_data_that_was_moved_in_place_yields_parts_of_it():
    code = f"""
from graphs import NeighborLoader, load
data = load()
data.to("cuda", "x")
{NET}
loader = NeighborLoader(data, batch_size=4)
for batch in loader:
    net(batch.x)
"""
    assert met(code) == []


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("GraphLoader(graph, sampler, device=device)", 0),
        ("make_loader(graph, device)", 0),
        ('GraphLoader(graph, sampler, device="cuda")', 0),
        ('GraphLoader(graph, sampler, device="cpu")', 1),
        ("GraphLoader(graph, sampler, device=None)", 1),
        ("GraphLoader(graph, sampler)", 1),
        ("torch.utils.data.DataLoader(graph, 4)", 1),
    ],
)
def test_a_loader_that_is_told_a_device_may_yield_batches_there(made, found):
    code = f"""
from graphs import GraphLoader, make_loader
def train(net, graph, sampler, device):
    net = nn.Linear(3, 3).to(device)
    loader = {made}
    for x, y in loader:
        net(x)
"""
    assert len(met(code)) == found


@pytest.mark.parametrize(("stage", "found"), [(".copy_to(device)", 0), (".shuffle(device)", 1)])
def test_a_pipeline_with_a_stage_that_copies_to_a_device_yields_batches_there(stage, found):
    code = f"""
from pipes import Sampler, PipeLoader
def make(graph, device):
    return PipeLoader(Sampler(graph){stage})

def train(dataloader, device):
    net = nn.Linear(3, 3).to(device)
    for x, y in dataloader:
        net(x)
"""
    assert len(met(code)) == found


COLUMNS = """
from torch.utils.data import DataLoader, TensorDataset
from preparing import windows
def train(data, device):
    net = nn.Linear(3, 3).to(device)
    {made}
    loader = DataLoader(TensorDataset(x, y), batch_size=4)
    for rows, targets in loader:
        loss = F.mse_loss(net(rows), targets)
"""
ON_THE_HOST = "x, y = torch.ones(9, 3), torch.ones(9, 3)"


@pytest.mark.parametrize(
    "made",
    [
        "x, y = windows(data, device)",
        "x, y = torch.ones(9, 3).to(device), torch.ones(9, 3).to(device)",
        "x, y = torch.ones(9, 3, device=device), torch.ones(9, 3, device=device)",
    ],
)
def test_rows_of_tensors_that_were_moved_are_where_those_are(made):
    assert met(COLUMNS.format(made=made)) == []


@pytest.mark.parametrize("made", ["x, y = windows(data)", ON_THE_HOST])
def test_rows_of_others_are_on_the_host(made):
    assert met(COLUMNS.format(made=made)) == ["input: rows@cpu net net@δ(device) certain"]


def test_one_column_may_have_been_left_behind():
    made = f"{ON_THE_HOST}\n    x = x.to(device)"
    assert met(COLUMNS.format(made=made)) == ["targets@cpu F.mse_loss net(rows)@δ(device) certain"]


OWN = """
class Batches(torch.utils.data.DataLoader):
    def __init__(self, rows, device=None):
        super().__init__(rows, collate_fn=collating(device))
{more}
def train(rows, device):
    net = nn.Linear(3, 3).to(device)
    for x in Batches({given}):
        net(x * 2)
"""
ON_HOST = "    def __iter__(self):\n        yield torch.ones(4, 3)\n"


@pytest.mark.parametrize(
    ("given", "more", "found"),
    [("rows, device", "", 0), ("rows", "", 1), ("rows, device", ON_HOST, 1)],
)
def test_a_loader_of_the_projects_own_that_is_told_a_device(given, more, found):
    assert len(met(OWN.format(given=given, more=more))) == found


BATCHES = """
def train({arguments}, loader, device):
    for batch in loader:
        {inputs}
        x = x.to(device)
        {step}
"""


@pytest.mark.parametrize(
    "inputs", ["x, y = batch", "x = batch[0]; y = batch[1]", 'x, y = batch["x"], batch["y"]']
)
@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        ("net, criterion", "criterion(net(x), y).backward()"),
        ("net, criterion", "criterion(net.forward(x), y).backward()"),
        ("net", "torch.nn.functional.cross_entropy(net(x), y).backward()"),
        ("model", "labels = y; model(x, labels).backward()"),
    ],
)
def test_the_parts_of_a_batch_belong_together(inputs, arguments, step):
    code = BATCHES.format(arguments=arguments, inputs=inputs, step=step)
    [found] = met(code)
    assert found.endswith("likely")


@pytest.mark.parametrize(
    ("inputs", "step"),
    [
        ("x = batch[0]; y = batch[1]", "y = y.to(device); criterion(net(x), y)"),
        ("x = batch[0]; y = batch[1]", "log(net(x), y.sum())"),  # for different ends
        ("batch = pack(batch); x = batch[0]; y = batch[1]", "criterion(net(x), y)"),
    ],
)
def test_what_is_no_part_of_a_batch_or_goes_elsewhere_need_not(inputs, step):
    found = met(BATCHES.format(arguments="net, criterion", inputs=inputs, step=step))
    assert not any(each.endswith(("likely", "certain")) for each in found)


def test_lengths_that_a_model_is_given_may_stay_on_the_host():
    code = BATCHES.format(
        arguments="model",
        inputs="x = batch[0]; lengths = batch[1]",
        step="model(x, lengths).sum().backward()",
    )
    assert not any(each.endswith(("likely", "certain")) for each in met(code))


OWN_BATCHES = """
from torch.utils.data import DataLoader

def graphs(rows):
    return merge(rows), torch.stack([label for _, label in rows])

def pairs(rows):
    return torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows])

def train(model, data, args, device):
    model.to(device)
    for {names} in DataLoader(data, {option}):
        model({given})
"""


@pytest.mark.parametrize(
    ("option", "names", "given", "found"),
    [
        ("batch_size=4", "x, y", "x", "likely"),
        ("collate_fn=None", "x, y", "x", "likely"),
        ("collate_fn=pairs", "x, y", "x", "likely"),
        ("collate_fn=graphs", "x, y", "x", "possible"),
        ("collate_fn=args.collate", "x, y", "x", "possible"),
        ("batch_size=4", "batch", "batch", "possible"),  # perhaps a dict
    ],
)
def test_what_a_model_out_of_sight_is_given_of_a_batch_may_be_no_tensor(
    option, names, given, found
):
    """A graph, a dict or a list is given as it is, and the model moves its tensors."""
    (meeting,) = met(OWN_BATCHES.format(option=option, names=names, given=given))
    assert meeting.endswith(found), meeting
