"""The host waits for the device, or reads its memory."""

import pytest
from given import given, host_reads, met, revealed, syncs

from devlint.inference.domain.assumptions import AssumptionKind

GPU = 'import numpy as np\nx = torch.zeros(3, device="cuda")\n'


@pytest.mark.parametrize(
    ("code", "sync"),
    [
        ("x.sum().item()", ".item() of x.sum()@cuda"),
        ("x.tolist()", ".tolist() of x@cuda"),
        ("float(x[0])", "float() of x[0]@cuda"),
        ("int(x.sum())", "int() of x.sum()@cuda"),
        ("bool(x[0])", "bool() of x[0]@cuda"),
        ("if x.sum() > 0:\n    pass", "if of x.sum() > 0@cuda"),
        ("print(x)", "print() of x@cuda"),
        ("x.nonzero()", ".nonzero() of x@cuda"),
        ("x[x > 0]", "mask indexing of x@cuda"),
        ("x[x > 0] = torch.ones(2, device='cuda')", "mask assignment of x@cuda"),
        ("x.cpu()", ".cpu() of x@cuda"),
    ],
)
def test_what_needs_the_value_waits_for_it(code, sync):
    assert syncs(given(GPU + code)) == [sync]


@pytest.mark.parametrize(
    "code",
    ["x.shape", "x.size(0)", "len(x)", "x.dtype", "x.numel()", "x.dim()", "x.device", "x + 1"],
)
def test_what_the_host_knows_anyway_does_not_wait(code):
    assert syncs(given(f"{GPU}y = {code}")) == []


@pytest.mark.parametrize("value", ["0.0", "x.sum()"])
def test_one_number_is_filled_in_without_waiting(value):
    assert syncs(given(f"{GPU}x[x > 0] = {value}")) == []


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("x.numpy()", ".numpy() of x@cuda certain"),
        ("x.detach().numpy()", ".numpy() of x.detach()@cuda certain"),
        ("np.mean(x)", "np.mean of x@cuda certain"),
        ("np.asarray(x)", "np.asarray of x@cuda certain"),
    ],
)
def test_what_reads_host_memory_is_refused(code, read):
    assert host_reads(given(GPU + code)) == [read]


@pytest.mark.parametrize(
    "code", ["x.cpu().numpy()", "x.numpy(force=True)", "np.mean(x.cpu().numpy())", "x.tolist()"]
)
def test_a_copy_on_the_host_may_be_read(code):
    assert host_reads(given(GPU + code)) == []


@pytest.mark.parametrize(
    ("force", "reads"), [("force=True", []), ("", [".numpy() of boxes.corners@cuda certain"])]
)
def test_a_forced_array_of_what_is_perhaps_no_tensor_is_a_copy_too(force, reads):
    code = f"""
    def widths(boxes):
        boxes = boxes.to("cuda")
        corners = boxes.corners.numpy({force})
        return corners * 2
    """
    assert host_reads(given(code)) == reads


@pytest.mark.parametrize(
    ("table", "reads"),
    [
        ("pd.DataFrame(rows)", 0),
        ("pd.DataFrame([measured(3), measured(4)])", 0),
        ("pd.DataFrame(measured(3)['error'])", 1),
        ("pd.DataFrame([measured(3)['error']])", 0),
        ("pd.DataFrame(list(zip([2, 3], [measured(3)['error'], measured(4)['error']])))", 0),
        ("pd.DataFrame({'error': measured(3)['error']})", 1),
        ("pd.DataFrame({'error': [measured(3)['error']]})", 0),
        ("pd.DataFrame({'n': [3], 'error': measured(3)['error']})", 1),
        ("pd.Series(measured(3)['error'])", 1),
    ],
)
def test_a_table_reads_a_column_and_keeps_what_stands_in_rows_and_lists(table, reads):
    code = f"""
    import pandas as pd

    def measured(n):
        a = torch.rand(n, device="cuda")
        return {{"n": n, "error": a.norm()}}

    def main():
        rows = []
        for n in (2, 3):
            rows.append(measured(n))
        return {table}
    """
    assert len(host_reads(given(code))) == reads


@pytest.mark.parametrize(
    ("call", "reads"),
    [("train_test_split(x)", 0), ("shuffle(x, random_state=0)", 0), ("roc_auc_score(x, x)", 1)],
)
def test_what_only_indexes_reads_no_host_memory(call, reads):
    code = f"""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split
    from sklearn.utils import shuffle
    x = torch.zeros(3, device="cuda")
    first, second = {call}
    """
    assert len(set(host_reads(given(code)))) == reads


def test_the_memory_of_a_host_tensor_may_be_read():
    assert host_reads(given("x = torch.zeros(3)\nx.numpy()")) == []


@pytest.mark.parametrize(
    ("argument", "found"),
    [
        ("cell", ["torch.from_numpy(shifts)@cpu torch.mm cell@δ(cell) possible"]),
        ("cell.cpu()", ["torch.from_numpy(shifts)@cpu torch.mm cell@δ(cell) certain"]),
    ],
)
def test_an_input_that_the_host_reads_as_it_is_lives_there(argument, found):
    code = f"""
    import numpy as np

    class Neighbors(nn.Module):
        def forward(self, cell: torch.Tensor):
            shifts = np.round({argument})
            return torch.mm(torch.from_numpy(shifts), cell)
    """
    assert met(code) == found


def test_what_is_written_to_a_file_is_read_on_the_host():
    code = """
        import h5py
        x = torch.zeros(3).cuda()
        with h5py.File("name", "w") as file:
            file["x"] = {0}
            file.create_group("g").create_dataset("y", data={0})
        """
    assert host_reads(given(code.format("x"))) == [
        'file["x"] of x@cuda certain',
        'file.create_group("g").create_dataset of x@cuda certain',
    ]
    assert host_reads(given(code.format("x.cpu()"))) == []
    assert host_reads(given(code.format("x.sum().item()"))) == []


@pytest.mark.parametrize(
    ("name", "confidence"), [("Regions", "likely"), ("Visualizer", "possible")]
)
def test_what_draws_or_evaluates_is_given_host_tensors(name, confidence):
    code = """
    class {name}:
        def area_of(self, mask, model):
            model.cuda()
            return mask.sum(1).numpy()
    """
    (read,) = host_reads(given(code.format(name=name)))
    assert read.endswith(confidence), read


READS = """
def {name}(counts, out, {argument}):
    lengths = {read}
    return [lengths[i] for i in range({more})]

def other(seen, model, x):
    {beside}
"""


@pytest.mark.parametrize(
    ("parts", "confidence"),
    [
        # Nothing shows that anybody hands in what is elsewhere.
        ({"beside": "model.cuda()"}, "possible"),
        ({"beside": "return counts.device"}, "possible"),
        ({"more": "counts.to(torch.long)"}, "possible"),
        # The function has to do with devices, or with a model; the file asks this very input.
        ({"beside": "return seen.device"}, "likely"),
        ({"beside": "return seen.cpu()"}, "likely"),
        ({"more": "torch.zeros(3, device=counts.device)"}, "likely"),
        ({"more": "counts.new(3)"}, "likely"),
        ({"more": "net.forward(counts)", "beside": "x.cuda()"}, "likely"),
        # What says that it is for the host.
        ({"name": "rows_cpu", "beside": "return seen.device"}, "possible"),
        ({"name": "row_figs", "more": "counts.cpu()"}, "possible"),
        ({"argument": "seen, limits=(0, 1)", "read": "(seen.cpu() * limits[1]).numpy()"}, ""),
    ],
)
def test_an_input_is_on_the_host_for_who_reads_it_there(parts, confidence):
    usual = {"name": "rows", "argument": "seen", "read": "seen.sum(1).numpy()", "more": "3"}
    code = READS.format(**{**usual, "beside": "x.cuda()", **parts})
    assert [read.rpartition(" ")[2] for read in host_reads(given(code))] == [
        *filter(None, [confidence])
    ]


@pytest.mark.parametrize(
    ("member", "confidence"),
    [
        ("def start(self): self.net.cuda()", "possible"),
        ("def to(self, device): self.rows = self.rows.to(device)", "possible"),
        ("def start(self): self.rows = 0", "possible"),
    ],
)
def test_what_a_class_moves_is_not_what_its_methods_are_handed(member, confidence):
    code = f"""
    device = torch.device("cuda")

    class Regions:
        def sizes(self, seen):
            return seen.sum(1).numpy()

        {member}
    """
    (read,) = host_reads(given(code))
    assert read.endswith(confidence), read


def test_an_autograd_function_is_given_what_its_caller_computes_with():
    code = """
    from solvers import solve

    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, density):
            return solve(density.detach().numpy())

    def run(net):
        net.cuda()
    """
    (read,) = host_reads(given(code))
    assert read.endswith("likely"), read


@pytest.mark.parametrize(("outer", "confidence"), [("plot", "possible"), ("train", "likely")])
def test_a_helper_within_a_function_for_the_host(outer, confidence):
    code = f"""
    def {outer}(rows, device):
        def masked(row):
            return row.to(torch.half).numpy(), torch.zeros(3, device=row.device)
        return list(map(masked, rows))
    """
    (read,) = host_reads(given(code))
    assert read.endswith(confidence), read


@pytest.mark.parametrize(
    ("path", "confidence"), [("engine.py", "certain"), ("tests/engine.py", "possible")]
)
def test_tests_run_where_their_fixtures_put_them(path, confidence):
    code = """
    def check(seen, device):
        seen = seen.to(device)
        return seen.numpy()
    """
    (read,) = host_reads(given(code, path=path))
    assert read.endswith(confidence), read


@pytest.mark.parametrize(
    ("code", "sync"),
    [
        ("if y:\n    pass", "if of y@cuda"),
        ("while y:\n    break", "while of y@cuda"),
        ("max(0, y)", "max() of y@cuda"),
        ("min(y, 1)", "min() of y@cuda"),
        ("x[: y]", "slice bound of y@cuda"),
        ("torch.zeros(y)", "torch.zeros() of y@cuda"),
        ("torch.arange(y)", "torch.arange() of y@cuda"),
        ("any(y)", "any() of y@cuda"),
        ("all(y)", "all() of y@cuda"),
        ("import logging\nlogging.info('at %s', y)", "logging.info() of y@cuda"),
    ],
)
def test_a_tensor_in_the_place_of_a_number_is_waited_for(code, sync):
    assert syncs(given(f"{GPU}y = x.sum()\n{code}"))[-1:] == [sync]


@pytest.mark.parametrize(
    "code",
    [
        "if y:\n        pass",
        "max(0, y)",
        "x[: y]",
        "torch.zeros(y)",
        "any(y)",
        "logging.info('at %s', y)",
        "logging.info('at %s', x.shape)",
        "max(0, x.shape[0])",
        "torch.zeros(x.size(0))",
        "if y is None:\n        pass",
    ],
)
def test_what_may_be_a_number_or_a_list_does_not_wait(code):
    function = f"def f(x: torch.Tensor, y):\n    x = x.cuda()\n    {code}\n"
    assert syncs(given(f"import logging\n{function}")) == []


def test_what_was_only_used_as_a_tensor_may_be_none():
    code = "def f(x, mask=None):\n    if mask:\n        x = x.masked_fill(mask, 0)\n    return x\n"
    assert syncs(given(code)) == []


DISTANCES = """
from scipy import ndimage

def start(net):
    net.cuda()

def distances(maps: torch.Tensor, sizes: torch.Tensor):
    found = torch.ones(3, 3) * {what}
    return found, ndimage.distance({read})
"""


@pytest.mark.parametrize(
    ("what", "read", "confidence"),
    [
        ("maps", "maps.sum(1).numpy()", "possible"),
        ("sizes", "maps.sum(1).numpy()", "possible"),
        ("sizes", "maps.sum(1).tolist()", "likely"),
        ("sizes.cuda()", "maps.sum(1).numpy()", "certain"),
        ("sizes", "maps.to(sizes.device).numpy()", "likely"),
    ],
)
def test_who_reads_an_input_on_the_host_expects_the_others_there(what, read, confidence):
    code = DISTANCES.format(what=what, read=read).replace(
        "torch.from_numpy(order(3))", "torch.ones(3, 3)"
    )
    (meeting,) = met(code)
    assert meeting.endswith(confidence), meeting


@pytest.mark.parametrize(
    ("main", "asked", "confidence"),
    [
        ("import argparse", "x = x.cuda()", "possible"),
        ("import argparse", "parts.to(device)", "certain"),
        ("import arguments", "x = x.cuda()", "likely"),
    ],
)
def test_the_data_of_a_script_are_where_it_read_them(main, asked, confidence):
    code = f"""
    {main}

    def train(parts, x, device):
        {asked}
        picked = parts.long().numpy()
        return picked, x
    """
    (read,) = host_reads(given(code))
    assert read.endswith(confidence), read


@pytest.mark.parametrize(
    ("asks", "count"),
    [("scipy.sparse.issparse(x)", 0), ("scipy.sparse.csr_matrix(x)", 1)],
)
def test_asking_for_a_type_reads_nothing(asks, count):
    reads = host_reads(
        given(f"""
    import scipy.sparse

    def keep(x: torch.Tensor):
        x = x.cuda()
        return {asks}
    """)
    )
    assert len(reads) == count


@pytest.mark.parametrize(
    ("sink", "confidence"), [("np.copy(rows)", "possible"), ("rows.numpy()", "certain")]
)
def test_what_is_an_array_now_and_then_is_handed_to_numpy_where_it_is_one(sink, confidence):
    code = f"""
        import numpy as np

        def run(x: torch.Tensor, fast):
            rows = x.cuda()
            if fast:
                rows = x.cpu().numpy()
            return {sink}
    """
    assert [read.rpartition(" ")[2] for read in host_reads(given(code))] == [confidence]


@pytest.mark.parametrize(("moved", "confidence"), [("", "possible"), (".cuda()", "certain")])
def test_who_exports_a_model_without_a_device_does_so_on_the_host(moved, confidence):
    code = f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)

            def forward(self, x):
                return self.lin(x) + torch.ones(3)

        if __name__ == "__main__":
            torch.onnx.export(Net(){moved}, torch.zeros(1, 3), "net.onnx")
    """
    found = [m for m in met(code) if m.startswith("torch.ones(3)@cpu +")]
    assert [meeting.rpartition(" ")[2] for meeting in found] == [confidence]


@pytest.mark.parametrize(
    ("read", "count"),
    [
        ("[v.numpy() for _, v in net.state_dict().items()]", 1),
        ("{k: v.numpy() for k, v in net.state_dict().items()}", 1),
        ('net.state_dict()["weight"].numpy()', 1),
        ("[v.cpu().numpy() for _, v in net.state_dict().items()]", 0),
        ("net.cpu().state_dict()['weight'].numpy()", 0),
    ],
)
def test_a_modules_state_is_where_the_module_is(read, count):
    assert len(host_reads(given(f"net = nn.Linear(3, 3).cuda()\nfound = {read}\n"))) == count


def test_a_state_that_was_read_before_the_move_stays():
    code = "net = nn.Linear(3, 3)\nstate = net.state_dict()\nnet.cuda()\n"
    assert not host_reads(given(f"{code}found = state['weight'].numpy()\n"))


def test_a_module_that_writes_its_own_state_to_a_file_is_on_the_host_by_then():
    code = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)

            def as_text(self):
                return str({weights}.numpy())
    """
    assert host_reads(given(code.format(weights="self.state_dict()['proj.weight']"))) == []
    assert host_reads(given(code.format(weights="self.proj.weight.data"))) != []


CHART = """
import matplotlib.pyplot as plt

class Net(nn.Module):
    def forward(self, x):
        return x

def chart({given}):
    found = []
    for name, p in {parts}:
        found.append({value})
    {sink}(found)
"""


@pytest.mark.parametrize(
    ("taken", "parts", "value", "sink", "expected"),
    [
        ("params", "params", "p.grad.abs().mean()", "plt.plot", "likely"),
        ("net", "net.named_parameters()", "p.grad.abs().mean()", "plt.plot", "likely"),
        ("net: nn.Module", "net.named_parameters()", "p.grad.norm()", "plt.bar", "likely"),
        # weights are there before anybody trains them
        ("net", "net.named_parameters()", "p.abs().mean()", "plt.plot", "possible"),
        ("net", "net.named_parameters()", "p.grad.abs().mean().cpu()", "plt.plot", ""),
        ("net", "net.named_parameters()", "p.grad.abs().mean()", "print", ""),
    ],
)
def test_gradients_are_where_their_parameters_train(taken, parts, value, sink, expected):
    code = CHART.format(given=taken, parts=parts, value=value, sink=sink)
    found = host_reads(given(code))
    assert [read.rpartition(" ")[2] for read in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("path", "line", "reported"),
    [
        ("lib/models/net_onnx.py", "", False),
        ("export/models/net.py", "", False),
        ("export/models/net.py", "scale = scale.to(dtype=x.dtype, device=x.device)", False),
        ("export/models/net.py", "net.cuda()", True),
        ("export/models/net.py", "net.to(device)", True),
        ("lib/models/exported_goods.py", "", True),
        ("lib/models/net.py", "", True),
    ],
)
def test_a_module_that_is_there_to_be_exported_stays_on_the_host(path, line, reported):
    code = f"""
        class Net(nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model
                self.lin = nn.Linear(3, 3)
                self.table = torch.ones(3)
                self.heads = [nn.Linear(3, 3), nn.Linear(3, 3)]

            def forward(self, x):
                return self.lin(x) + torch.ones(3)

        def prepared(net, x, scale, device):
            {line or "pass"}
            return net(x, scale)
    """
    facts = given(code, path=path)
    excused = [fact.attribute for fact in facts.plain_attributes if fact.excused]
    assert excused == ([] if reported else ["table", "heads"])
    sure = [m for m in facts.meetings if m.confidence.value != "possible"]
    assert bool(sure) is reported


@pytest.mark.parametrize(
    ("device", "outside", "confidence"),
    [
        ("torch.device('cpu')", "", "possible"),
        ("'cpu'", "", "possible"),
        ("device", "", "likely"),
        ("torch.device('cpu')", "agent.device = torch.device('cuda')", "likely"),
    ],
)
def test_an_object_whose_device_is_the_host_works_there(device, outside, confidence):
    code = f"""
        class Agent:
            def __init__(self, model, device):
                self.model = model
                self.device = {device}

            def update(self, observed: torch.Tensor, rewards):
                values = self.model(observed.float())
                return torch.tensor(rewards) - values

        def run(agent):
            {outside or "pass"}
    """
    assert [meeting.rpartition(" ")[2] for meeting in met(code)] == [confidence]


@pytest.mark.parametrize(
    ("move", "reported"), [("torch.float", False), ("torch.device('cuda')", True)]
)
def test_a_conversion_of_the_element_type_asks_for_no_device(move, reported):
    code = f"""
        def loss(states: torch.Tensor, rewards, model):
            base = model(states)
            returns = torch.zeros(3)
            return (returns - base.float()).sum()

        def train(model, rows):
            loss(rows["states"].to({move}, copy=True), rows["rewards"], model).backward()

        if __name__ == "__main__":
            train(nn.Linear(3, 1), load())
    """
    sure = [m for m in given(code).meetings if m.confidence.value != "possible"]
    assert bool(sure) is reported


@pytest.mark.parametrize(("test", "shown"), [("np.isscalar", "cpu"), ("callable", "δ(steps)")])
def test_a_scalar_of_numpys_is_no_tensor(test, shown):
    code = f"""
        import numpy as np

        def returns(start, steps: torch.Tensor):
            value = start + steps
            assert {test}(value)
            reveal(torch.tensor(value))
    """
    assert revealed(code) == [shown]


def test_a_notebook_is_a_script():
    """One that asks for no accelerator runs on the host, and so do its functions."""
    code = """
    def simulate(theta: torch.Tensor):
        return theta.exp() + torch.randn(3)
    """
    script = AssumptionKind.SCRIPT_RUNS_ON_ACCELERATOR
    for path, is_script in (("lesson.py", False), ("lesson.ipynb", True)):
        (meeting,) = given(code, path=path).meetings
        assert (script in {each.kind for each in meeting.assumptions}) is is_script


@pytest.mark.parametrize(
    ("axes", "drawn"),
    [
        ("fig, ax = plt.subplots()", "ax.plot"),
        ("fig, ax = plt.subplots(2, 2)", "ax[0].plot"),
        ("fig, ax = plt.subplots(2, 2)", "ax[0, 1].imshow"),
        ("fig, ax = plt.subplots(2, 2)", "ax.flatten()[0].plot"),
        ("fig, rows = plt.subplots(2)\nfor ax in rows:\n    pass", "ax.scatter"),
        ("fig, rows = plt.subplots(2, 2)\nfor ax in rows.flat:\n    pass", "ax.hist"),
        ("ax = plt.figure().add_subplot(projection='3d')", "ax.plot_surface"),
    ],
)
def test_axes_read_what_they_draw(axes, drawn):
    code = f"import matplotlib.pyplot as plt\n{axes}\nx = torch.rand(3, device='cuda')\n{drawn}(x)"
    assert host_reads(given(code)) == [f"{drawn} of x@cuda certain"]


@pytest.mark.parametrize(
    ("method", "drawn"),
    [
        ("ax.plot", "certain"),
        ("ax.plot if len(x) > 9 else ax.scatter", "certain"),
        ("ax.set_title", ""),
        ("ax.set_title if len(x) > 9 else print", ""),
    ],
)
def test_a_method_of_axes_reads_by_another_name_too(method, drawn):
    code = f"""
        import matplotlib.pyplot as plt
        fig, ax = plt.subplots()
        x = torch.rand(3, device="cuda")
        draw = {method}
        draw(x)
    """
    assert set(host_reads(given(code))) == ({f"draw of x@cuda {drawn}"} if drawn else set())


@pytest.mark.parametrize("call", ["ax[0].set_title(x)", "ax.plot(x.cpu())", "fig.suptitle(x)"])
def test_axes_read_nothing_else(call):
    code = f"""
        import matplotlib.pyplot as plt
        fig, ax = plt.subplots(2)
        x = torch.rand(3, device="cuda")
        {call}
    """
    assert host_reads(given(code)) == []


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("rows[0, :] = x", "rows[0, :] of x@cuda certain"),
        ("rows[:2] = x.mean()", "rows[:2] of x.mean()@cuda certain"),
        ("rows[0] = [1, x.mean()]", "rows[0] of [1, x.mean()]@cuda certain"),
        ("rows[0, :] = x.cpu()", ""),
        ("rows[0, 1] = x.mean()", ""),  # NumPy asks the tensor for its number
        ("rows[0] = [1, x.mean().item()]", ""),
    ],
)
def test_a_part_of_an_array_is_filled_with_an_array(line, read):
    code = f"""
        import numpy as np
        rows = np.zeros((4, 2))
        x = torch.rand(2, device="cuda")
        {line}
    """
    assert host_reads(given(code)) == ([read] if read else [])


@pytest.mark.parametrize(
    ("made", "reads"), [("copy()", 1), ("reshape(2, 4)", 1), ("clone()", 0), ("unsqueeze(0)", 0)]
)
def test_what_has_a_method_of_tensors_alone_is_no_array(made, reads):
    code = f"""
        import numpy as np
        table = {{"rows": np.zeros((4, 2))}}
        rows = table["rows"].{made}
        rows[0, :] = torch.rand(2, device="cuda")
    """
    assert len(host_reads(given(code))) == reads


@pytest.mark.parametrize(
    ("test", "reads"),
    [
        ("isinstance(face, (np.ndarray, Image.Image))", 0),
        ("isinstance(face, np.ndarray) or isinstance(face, Image.Image)", 0),
        ("not (not isinstance(face, np.ndarray) and not isinstance(face, Image.Image))", 0),
        ("isinstance(face, np.ndarray) or isinstance(other, Image.Image)", 1),
        ("isinstance(face, np.ndarray) or plain", 1),
    ],
)
def test_a_value_of_one_of_several_classes_is_no_tensor(test, reads):
    code = f"""
    import numpy as np
    from PIL import Image
    def pixels(face, other, plain):
        face = face * 2
        if {test}:
            return np.float32(face)
        return face.float()
    """
    assert len(host_reads(given(code))) == reads


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("table.values[0, :] = [1, x.mean()]", "table.values[0, :] of [1, x.mean()]@cuda certain"),
        ("table.values[0, :] = [1, x.mean().item()]", ""),
        ("table.values[0] = [1, x.mean()]", ""),  # a list of lists, perhaps
        ("table.values[0, :] = x.mean()", ""),  # perhaps a tensor
    ],
)
def test_only_an_array_has_such_an_index_and_takes_a_list(line, read):
    code = f"""
        def keep(table):
            x = torch.rand(2, device="cuda")
            {line}
    """
    assert host_reads(given(code)) == ([read] if read else [])


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("model(x.cuda())", ["likely"]),
        ("criterion(model(x.cuda()), x.cuda())", ["likely"]),
        ("sum(criterion(model(x.cuda()), x.cuda()) for x in rows) / 3", ["likely"]),
        ("criterion(score(x.cuda()), x.cuda())", ["possible"]),  # a number, perhaps
        ("score(model(x.cuda()), x.cuda())", ["possible"]),
    ],
)
def test_the_loss_of_what_a_model_has_made_is_where_that_is(value, found):
    code = f"""
        def run(model, criterion, score, x, rows):
            ({value}).numpy()
    """
    assert [each.rpartition(" ")[2] for each in host_reads(given(code))] == found


@pytest.mark.parametrize(
    ("path", "head", "minds"),
    [
        ("pack/metrics/auc.py", "def _auc(preds: torch.Tensor):", True),
        ("pack/readers.py", "def _auc(preds: torch.Tensor):", False),
        ("pack/metrics/auc.py", "def _auc(preds):", False),
        ("pack/order.py", "class Order(Metric):\n  def _auc(self, preds: torch.Tensor):", True),
        ("pack/order.py", "class Order(Reader):\n  def _auc(self, preds: torch.Tensor):", False),
    ],
)
def test_a_metric_is_meant_for_what_a_model_has_made(path, head, minds):
    (read,) = given(f"{head}\n    return score(preds.numpy())", path=path).host_reads
    assert read.given is not None and read.given.minds is minds


@pytest.mark.parametrize(
    ("made", "sure"),
    [
        ("torch.FloatTensor(logits)", "possible"),
        ("torch.Tensor(logits)", "likely"),
        ("logits.float()", "likely"),
    ],
)
def test_a_constructor_of_a_host_type_is_given_what_is_on_the_host(made, sure):
    """`torch.FloatTensor(x)` refuses a tensor of another device."""
    scaled = "def scaled(logits: torch.Tensor):\n    return {} / torch.ones(10)\n"
    (found,) = met(scaled.format(made))
    assert found.endswith(sure)


def test_a_module_that_is_being_made_is_still_on_the_host():
    code = """
    class Schedule(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("betas", torch.linspace(0, 1, 9))
            self.first = self.betas.cumsum(0).numpy()

        def forward(self, x):
            return x * {read}
    """
    assert host_reads(given(code.format(read="self.first"))) == []
    found = host_reads(given(code.format(read="self.betas.numpy()")))
    assert [each.partition(" ")[0] for each in found] == [".numpy()"]


@pytest.mark.parametrize(("caller", "count"), [("__init__", 0), ("forward", 1)])
def test_a_method_that_constructors_alone_call_runs_while_the_module_is_made(caller, count):
    code = """
    class Body(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("pose", torch.zeros(9))
            self.mean = {__init__}

        def mean_pose(self):
            return self.pose.numpy()

        def forward(self, x):
            return {forward}
    """
    calls = {"__init__": "None", "forward": "x"} | {caller: "self.mean_pose()"}
    assert len(host_reads(given(code.format(**calls)))) == count


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("np.zeros(n)", 0),  # a number is taken out of it, as `range` does
        ("np.zeros((n, 3))", 0),
        ("np.full(n, 3)", 0),
        ("np.full(3, n)", 1),
        ("np.random.normal(size=n)", 0),
        ("np.random.randint(3, size=n)", 1),
        ("np.zeros(x)", 1),  # several sizes: their array is read
        ("np.array(n)", 1),
    ],
)
def test_a_size_of_numpys_is_a_number(made, count):
    code = f"""
        import numpy as np

        def run(labels: torch.Tensor):
            x = labels.cuda()
            n = x.max()
            return {made}
    """
    assert len(host_reads(given(code))) == count


@pytest.mark.parametrize(
    ("made", "confidence"),
    [
        ("policy(rows)", "likely"),
        ("policy(rows).logits", "likely"),
        ("lookup(rows)", "possible"),  # no model, by its name
    ],
)
def test_what_a_helper_returns_of_a_model_is_where_the_model_is(made, confidence):
    code = f"""
    from tables import lookup

    def scores(policy, state, device):
        rows = torch.tensor(state).to(device)
        return {made}

    def best(policy, state, device):
        return scores(policy, state, device).numpy().argmax()

    print(best(*given()))
    """
    assert {read.split()[-1] for read in host_reads(given(code))} == {confidence}


@pytest.mark.parametrize(("place", "confidence"), [("policy.device", "likely"), ("", "possible")])
def test_what_is_brought_to_a_model_comes_back_from_there(place, confidence):
    moved = f".to({place})" if place else ""
    code = f"""
    def scores(policy, state):
        return policy(torch.as_tensor(state){moved}).numpy()

    print(scores(*given()))
    """
    reads = host_reads(given(code))
    assert all(read.endswith(confidence) for read in reads) and (reads or not place)


@pytest.mark.parametrize("name", ["to_ranks", "convert", "ranked"])
@pytest.mark.parametrize("read", ["np.argsort(rows)", "rows.detach().numpy().argsort()"])
@pytest.mark.parametrize(("place", "confidence"), [("rows.device", "likely"), ("'cpu'", "")])
def test_what_goes_back_to_where_a_value_was_says_that_it_may_be_elsewhere(
    name, read, place, confidence
):
    code = f"""
    import numpy as np

    class Ranks:
        def {name}(self, rows):
            return torch.from_numpy({read}).to({place})
    """
    reads = host_reads(given(code))
    if confidence:
        assert [each.split()[-1] for each in reads] == [confidence]
    else:
        assert "np." not in read or not any(each.endswith("likely") for each in reads)
