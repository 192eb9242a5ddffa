"""What a loop over a loader gets when the project's own classes have a hand in it."""

import pytest
from given import met

IMPORTS = "from torch.utils.data import DataLoader, Dataset\n"
NET = "net = nn.Linear(3, 3).cuda()\n"


def _rows(returned):
    return f"""
class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        row = self.rows[index].float()
        return {returned}
"""


@pytest.mark.parametrize(
    ("returned", "meetings"),
    [
        ("row.cuda()", []),
        ('row.to("cuda"), row.cuda()', []),
        ("row", ["input: x@cpu net net@cuda certain"]),
    ],
)
def test_a_dataset_that_moves_its_items(returned, meetings):
    head = "for x, *_ in" if "," in returned else "for x in"
    code = f"{IMPORTS}{_rows(returned)}{NET}{head} DataLoader(Rows(rows)):\n    net(x)"
    assert met(code) == meetings


@pytest.mark.parametrize(
    ("returned", "meetings"),
    [
        ("row.cuda()", []),
        ("row", ["input: next(batches)@cpu net net@cuda certain"]),
    ],
)
def test_a_generator_passes_on_what_the_loader_yields(returned, meetings):
    code = f"""{IMPORTS}{_rows(returned)}{NET}
def forever(loader):
    while True:
        for batch in loader:
            yield batch

batches = forever(DataLoader(Rows(rows)))
net(next(batches))
"""
    assert met(code) == meetings


@pytest.mark.parametrize(
    ("moved", "meetings"),
    [(".to(self.device)", []), ("", ["input: x@cpu net net@cuda certain"])],
)
def test_a_wrapper_around_a_loader_yields_what_its_iter_does(moved, meetings):
    code = f"""{IMPORTS}{NET}
class Wrapped:
    def __init__(self, loader, device):
        self.loader = loader
        self.device = device

    def __iter__(self):
        for x, y in self.loader:
            yield x{moved}, y{moved}

loader = DataLoader(rows)
for x, y in Wrapped(loader, torch.device("cuda")):
    net(x)
"""
    assert met(code) == meetings


def test_a_loader_that_one_branch_wraps_yields_what_the_wrapper_does():
    code = f"""{IMPORTS}{NET}
class Ahead:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        for x in self.loader:
            yield x.cuda()

def load(rows, ahead=True):
    loader = DataLoader(rows)
    if ahead:
        loader = Ahead(loader)
    return loader

for x in load(rows):
    net(x)
"""
    assert met(code) == []


SOMEBODYS_LOADER = """
net = nn.Linear(3, 3).cuda()

def train(loader):
    for x, y in loader:
        net(x + 1)
"""

ROWS = """
from torch.utils.data import Dataset

class Rows(Dataset):
    def __init__(self, table):
        self.table = table

    def __getitem__(self, index):
        return {row}
"""


@pytest.mark.parametrize(
    ("row", "confidence"),
    [("self.table[index]", "certain"), ("self.table[index].cuda()", "possible")],
)
def test_rows_out_of_sight_may_be_those_of_a_data_set_that_moves_them(row, confidence):
    (meeting,) = met(SOMEBODYS_LOADER, {"rows.py": ROWS.format(row=row)})
    assert meeting.endswith(confidence)


UNDER_A_FRAMEWORK = """
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
net = accelerator.prepare(nn.Linear(3, 3))

def forever({name}):
    while True:
        for batch in {name}:
            yield batch

def first({name}):
    for batch in {name}:
        return batch

{loader}
net({drawn})
"""
READY = "loader = accelerator.prepare(DataLoader(torch.ones(9, 3)))"
LEFT = "loader = DataLoader(torch.ones(9, 3))"


@pytest.mark.parametrize("name", ["loader", "rows"])
@pytest.mark.parametrize("drawn", ["next(forever(loader))[0]", "first(loader)[0]"])
@pytest.mark.parametrize(("loader", "count"), [(LEFT, 1), (READY, 0), ("", 0)])
def test_a_framework_moves_the_batches_of_the_loaders_that_it_was_given(name, drawn, loader, count):
    assert len(met(UNDER_A_FRAMEWORK.format(name=name, drawn=drawn, loader=loader))) == count


@pytest.mark.parametrize("around", ["accumulate", "no_sync"])
def test_a_context_of_a_framework_leaves_the_model_where_it_is(around):
    code = f"""
    from accelerate import Accelerator
    accelerator = Accelerator()
    net = accelerator.prepare(nn.Linear(3, 3))
    with accelerator.{around}(net):
        net(torch.ones(3))
    """
    assert met(code) == ["input: torch.ones(3)@cpu net net@cuda certain"]


OTHERS_MOVE = {
    "faces.py": """
        from torch.utils.data import Dataset

        class Faces(Dataset):
            def __getitem__(self, index):
                return self.faces[index].cuda()
        """
}


@pytest.mark.parametrize(
    ("rows", "confidence"),
    [
        ("Rows(torch.ones(9, 3))", "certain"),  # in sight: it moves nothing
        ("Rows(torch.ones(9, 3), collate_fn=pack)", "possible"),
        ("Other(torch.ones(9, 3))", "possible"),
        ("rows", "possible"),
    ],
)
def test_rows_in_sight_are_on_the_host_whatever_other_data_sets_do(rows, confidence):
    rows, comma, more = rows.partition(", coll")
    loader = f"{rows}){comma}{more[:-1]}" if more else rows
    code = f"""{IMPORTS}{_rows("row")}{NET}
from elsewhere import Other, pack, rows
batch = next(iter(DataLoader({loader})))
net(batch)
"""
    assert met(code, OTHERS_MOVE) == [f"input: batch@cpu net net@cuda {confidence}"]
