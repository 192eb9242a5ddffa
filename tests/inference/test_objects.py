"""Objects of libraries: what the tables of classes say is what the inference does."""

from __future__ import annotations

from textwrap import dedent

import pytest
from given import given, host_reads, meetings, met, moves, revealed, settled

TOKENS = """
from transformers import AutoModel, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("name")
model = AutoModel.from_pretrained("name").cuda()
"""
GRAPHS = """
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader as GraphLoader
model = nn.Linear(3, 3).cuda()
"""
DATA_SETS = """
from ogb.nodeproppred import PygNodePropPredDataset
from torch_geometric.data import InMemoryDataset
from torch_geometric.datasets import Entities
from torch_geometric.transforms import ToDevice
model = nn.Linear(3, 3).cuda()
"""
LAWS = """
from torch.distributions import Categorical, Normal, kl_divergence
from torch.distributions.gumbel import Gumbel
"""
ACCELERATE = "from accelerate import Accelerator\naccelerator = Accelerator()\n"


class TestFunctionsThatMove:
    """A function of a library that brings whatever it is given to a device."""

    NET = "model = nn.Linear(3, 3).cuda()\n"
    SEND = "from accelerate.utils import send_to_device\n" + ACCELERATE + NET

    @pytest.mark.parametrize(
        ("given", "read", "count"),
        [
            ("batch, accelerator.device", "batch['x']", 0),
            ("batch, device='cuda'", "batch['x']", 0),
            ("batch, 'cpu'", "batch['x']", 1),
            ("[batch['x']], 'cuda'", "batch[0]", 0),
            ("model, 'cpu'", "torch.rand(3)", 0),
        ],
    )
    def test_its_argument_is_where_the_device_is(self, given, read, count):
        made = self.SEND + "batch = {'x': torch.rand(3)}\n"
        assert len(met(f"{made}batch = send_to_device({given})\nmodel({read})")) == count

    @pytest.mark.parametrize(("device", "count"), [("None", 1), ("'cuda'", 0)])
    def test_without_a_device_it_stays(self, device, count):
        code = "from ignite.utils import convert_tensor\n" + self.NET
        assert len(met(f"{code}model(convert_tensor(torch.rand(3), {device}))")) == count


class TestBatchesOfTokenizers:
    @pytest.mark.parametrize(
        "call",
        [
            "model(**batch)",
            "model(batch['input_ids'])",
            "model(batch.input_ids)",
            "model.generate(**batch)",
            "model.generate(batch.input_ids)",
            "model(**{name: ids for name, ids in batch.items()})",
        ],
    )
    def test_they_are_on_the_host_until_they_are_moved(self, call):
        made = TOKENS + 'batch = tokenizer("a text", return_tensors="pt")\n'
        assert len(met(made + call)) == 1
        for moved in (
            "batch.to('cuda')",
            "batch = batch.to('cuda')",
            "batch = batch.to(model.device)",
        ):
            assert met(f"{made}{moved}\n{call}") == []

    @pytest.mark.parametrize(("read", "count"), [("batch.ids", 1), ('getattr(batch, "ids")', 1)])
    def test_what_they_may_not_have_is_of_no_known_type(self, read, count):
        made = TOKENS + 'batch = tokenizer("a text", return_tensors="pt")\n'
        assert len(met(f"{made}model({read})")) == count
        asked = read.replace('"ids")', '"ids", None)')
        assert len(met(f"{made}model({asked})")) == (1 if asked == read else 0)

    def test_moved_one_by_one(self):
        code = TOKENS + dedent("""
            batch = {name: ids.cuda() for name, ids in tokenizer("a text").items()}
            model(**batch)
        """)
        assert met(code) == []

    @pytest.mark.parametrize(
        ("by_hand", "count"),
        [
            ("batch['input_ids'] = batch['input_ids'].cuda()", 0),
            ("batch[first] = batch[first].to('cuda')", 0),
            ("batch['input_ids'] = batch['input_ids'].long()", 1),
            ("batch['n'] = 3", 1),
        ],
    )
    def test_who_brings_one_entry_elsewhere_brings_those_that_count(self, by_hand, count):
        made = TOKENS + 'batch = tokenizer("a text", return_tensors="pt")\n'
        assert len(met(f"{made}{by_hand}\nmodel(**batch)")) == count

    @pytest.mark.parametrize(
        ("loop", "count"),
        [
            ("for name, ids in batch.items(): batch[name] = ids.cuda()", 0),
            ("for name in batch.keys(): batch[name] = batch[name].to('cuda')", 0),
            ("for name, ids in batch.items(): batch[name] = ids.long()", 1),
            ("for name, ids in batch.items(): batch[name[1:]] = ids.long()", 1),
            ("for name, ids in other.items(): other[name] = ids.cuda()", 1),
            ("for name, ids in batch.items(): moved = ids.cuda()", 1),
        ],
    )
    def test_a_loop_moves_their_entries_in_place(self, loop, count):
        made = 'batch = tokenizer("a text", return_tensors="pt")'
        assert len(met(f"{TOKENS}\n{made}\n{loop}\nmodel(**batch)")) == count

    def test_its_move_is_in_place(self):
        facts = given(TOKENS + 'tokenizer("a text", return_tensors="pt").to("cuda")\n')
        (move,) = (m for m in facts.moves if m.subject.name.startswith("tokenizer"))
        assert move.of_module

    def test_a_model_that_is_put_somewhere_by_its_maker(self):
        code = """
            a = AutoModel.from_pretrained("n", device_map="cuda")
            reveal(next(a.parameters()))
            b = AutoModel.from_pretrained("n", device_map="auto")
            reveal(next(b.parameters()))
            c = AutoModel.from_pretrained("n", quantization_config=q)
            reveal(next(c.parameters()))
            d = AutoModel.from_pretrained("n", **kwargs)
            reveal(next(d.parameters()))
            e = AutoModel.from_pretrained("n")
            reveal(next(e.parameters()))
        """
        assert revealed(TOKENS + dedent(code)) == ["cuda", "?", "?", "?", "cpu"]


class TestGraphs:
    def test_batches_of_its_loader(self):
        code = GRAPHS + dedent("""
            for batch in GraphLoader(dataset, batch_size=8):
                model(batch.x)
        """)
        assert met(code) == ["input: batch.x@cpu model model@cuda certain"]
        assert met(code.replace("    model(", "    batch = batch.to('cuda')\n    model(")) == []

    def test_where_its_tensors_are(self):
        code = GRAPHS + dedent("""
            here = Data(x=torch.zeros(4, 3), edge_index=torch.zeros(2, 8))
            there = Data(x=torch.zeros(4, 3).cuda())
            reveal(here.x)
            reveal(here.edge_attr)
            reveal(there.x)
            reveal(Batch.from_data_list([there, there]).x)
            here.to("cuda")
            reveal(here.x)
        """)
        assert revealed(code) == ["cpu", "cpu", "cuda", "cuda", "cuda"]

    def test_its_numbers_are_no_tensors(self):
        code = GRAPHS + dedent("""
            data = Data(x=torch.zeros(4, 3).cuda())
            torch.zeros(data.num_nodes).cuda() + data.x
        """)
        assert met(code) == []

    @pytest.mark.parametrize("made", ["Entities('d', 'AIFB')", "PygNodePropPredDataset('d')"])
    @pytest.mark.parametrize(
        "use", ["model(graph.x)", "F.nll_loss(model(graph.x.cuda()), graph.y)"]
    )
    def test_what_a_data_set_reads_is_on_the_host(self, made, use):
        code = DATA_SETS + f"graphs = {made}\ngraph = graphs[0]\n{use}\n"
        assert len(met(code)) == 1
        for moved in ("graph.to('cuda')", "graph = graph.cuda()"):
            assert met(code.replace(f"\n{use}", f"\n{moved}\n{use}")) == []

    @pytest.mark.parametrize(
        "code",
        [
            "graphs = Entities('d')\ngraphs.to('cuda')\nmodel(graphs[0].x)",
            "graphs = Entities('d', transform=ToDevice('cuda'))\nmodel(graphs[0].x)",
            "graphs = Entities('d')[:9]\nmodel(graphs.x)",
            "graph = Entities('d')[0]\nmodel(graph['paper'].to('cuda'))",
            "graph = Entities('d')[0]\nprint(graph['paper'].x, graph.num_classes)",
        ],
    )
    def test_or_where_somebody_brings_it(self, code):
        assert met(DATA_SETS + code) == []

    @pytest.mark.parametrize(
        ("within", "use", "count"),
        [
            ("pass", "model(Own('d')[0].x)", 1),
            ("def get(self, i): return self.all[i].to('cuda')", "model(Own('d')[0].x)", 0),
            ("def __getitem__(self, i): return load(i)", "model(Own('d')[0].x)", 0),
            ("pass", "own = Own('d')\nown.to('cuda')\nmodel(own[0].x)", 0),
            ("pass", "own = Own('d').to('cuda')\nmodel(own[0].x)", 0),
        ],
    )
    def test_a_data_set_of_the_project_gives_the_rows_that_it_inherits(self, within, use, count):
        code = DATA_SETS + f"class Own(InMemoryDataset):\n    {within}\n{use}\n"
        assert len(met(code)) == count

    @pytest.mark.parametrize(
        ("moved", "count"),
        [("", 1), ("graph.to('cuda')", 1), ("graph = dgl.add_self_loop(graph).to('cuda')", 0)],
    )
    def test_of_one_library_a_graph_stays_and_gives_another_one(self, moved, count):
        code = "import dgl\nfrom dgl.data import FlickrDataset\nmodel = nn.Linear(3, 3).cuda()\n"
        code += f"graph = FlickrDataset()[0]\n{moved}\nmodel(graph.ndata['feat'])\n"
        assert len(met(code)) == count

    @pytest.mark.parametrize(("moved", "sure"), [("", "possible"), (".cuda()", "likely")])
    def test_a_function_is_handed_it_where_it_is(self, moved, sure):
        table = "def table(graph):\n    return graph.x.detach().numpy()\n"
        use = f"def main():\n    table(Entities('d')[0]{moved})\n"
        (found,) = host_reads(settled(DATA_SETS + table + use))
        assert found.endswith(sure)

    def test_through_a_function(self):
        code = GRAPHS + dedent("""
            def embed(data):
                return model(data.x.unsqueeze(0))
            embed(Data(x=torch.zeros(4, 3)))
        """)
        assert len(met(code)) == 1
        assert met(code.replace("torch.zeros(4, 3)", "torch.zeros(4, 3).cuda()")) == []


class TestDistributions:
    def test_samples_are_where_the_parameters_are(self):
        code = LAWS + dedent("""
            class Policy(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.mean = nn.Linear(3, 3)
                def forward(self, x):
                    law = Normal(self.mean(x), 1.0)
                    reveal(law.sample())
                    reveal(law.mean)
                    return law.log_prob(law.rsample())
            reveal(Categorical(logits=torch.zeros(3).cuda()).sample())
        """)
        assert revealed(code) == ["δ(self)", "δ(self)", "cuda"]

    def test_two_that_are_compared(self):
        code = LAWS + dedent("""
            mean = torch.zeros(3, device="cuda")
            prior = Normal(torch.zeros(3), torch.ones(3))
            kl_divergence(Normal(mean, 1.0), prior)
        """)
        assert met(code) == ["prior@cpu kl_divergence Normal(mean, 1.0)@cuda certain"]
        assert met(code.replace("(3)", "(3).cuda()")) == []
        assert met(code.replace("torch.zeros(3), torch.ones(3))", "0.0, 1.0)")) == []

    def test_a_value_that_is_elsewhere(self):
        code = LAWS + dedent("""
            law = Normal(torch.zeros(3).cuda(), torch.ones(3).cuda())
            law.log_prob(torch.ones(3))
            law.log_prob(torch.ones(3).cuda())
        """)
        assert len(met(code)) == 1

    @pytest.mark.parametrize(
        ("drawn", "confidences"),
        [
            ("self.law.sample(x.shape)", ["certain"]),
            ("self.law.rsample([4, 3])", ["certain"]),
            ("Normal(0, 1).sample(sample_shape=(3,))", ["certain"]),
            ("UNIT.sample(x.size())", ["certain"]),
            ("Gumbel(0, 1).rsample(x.shape)", ["certain"]),
            ("self.law.sample(self.shape)", ["possible"]),  # of no dimensions, perhaps
            ("self.law.sample()", []),
            ("self.law.sample(())", []),
            ("self.law.sample(x.shape).to(x.device)", []),
            ("Normal(torch.zeros_like(x), 1.0).sample((2,))", []),
        ],
    )
    def test_samples_of_numbers_are_on_the_cpu(self, drawn, confidences):
        code = LAWS + dedent(f"""
            UNIT = Normal(0.0, 1.0)
            class Noise(nn.Module):
                def __init__(self, shape):
                    super().__init__()
                    self.shape = shape
                    self.law = Normal(0, 1)
                def forward(self, x: torch.Tensor):
                    return x + {drawn}
        """)
        assert [m.rpartition(" ")[2] for m in met(code)] == confidences


class TestAccelerator:
    def test_prepare_moves_models_and_loaders(self):
        code = ACCELERATE + dedent("""
            model = nn.Linear(3, 3)
            loader = torch.utils.data.DataLoader(dataset)
            model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
            for x in loader:
                model(x)
                model(x.to(accelerator.device))
                model(torch.zeros(3))
        """)
        assert met(code) == ["input: torch.zeros(3)@cpu model model@cuda certain"]

    def test_one_alone(self):
        code = ACCELERATE + dedent("""
            model = accelerator.prepare(nn.Linear(3, 3))
            model(torch.zeros(3, device=accelerator.device))
        """)
        assert met(code) == []

    def test_what_it_gathers_must_not_be_on_the_host(self):
        code = ACCELERATE + dedent("""
            accelerator.gather(torch.tensor([1.0]))
            accelerator.gather(torch.tensor([1.0], device=accelerator.device))
        """)
        assert len(met(code)) == 1


class TestCollectives:
    CODE = """
    import torch.distributed as dist
    def setup():
        dist.init_process_group("nccl")
    def total(values):
        count = torch.tensor([len(values)])
        dist.all_reduce(count)
        return count
    """

    def test_nccl_refuses_host_tensors(self):
        assert met(self.CODE) == [
            "count@cpu dist.all_reduce dist.all_reduce@cuda certain",
        ]
        assert met(self.CODE.replace("(values)])", "(values)]).cuda()")) == []

    @pytest.mark.parametrize("backend", ["gloo", "cpu:gloo,cuda:nccl", "mpi", "other"])
    def test_other_groups_take_them(self, backend):
        assert met(self.CODE.replace("nccl", backend)) == []


class TestPackedSequences:
    def test_lengths_are_read_on_the_host(self):
        code = """
        from torch.nn.utils.rnn import pack_padded_sequence
        x = torch.zeros(4, 7, 3).cuda()
        lengths = torch.tensor([7, 5, 3, 1])
        pack_padded_sequence(x, {})
        """
        assert host_reads(given(code.format("lengths.cuda()"))) == [
            "pack_padded_sequence of lengths.cuda()@cuda certain"
        ]
        assert host_reads(given(code.format("lengths"))) == []
        assert host_reads(given(code.format("[7, 5, 3, 1]"))) == []
        assert met(code.format("lengths")) == []

    def test_what_comes_back(self):
        code = """
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
        x = torch.zeros(4, 7, 3).cuda()
        packed = pack_padded_sequence(x, torch.tensor([7, 5, 3, 1]))
        reveal(packed.data)
        reveal(packed.batch_sizes)
        out, hidden = nn.LSTM(3, 3).cuda()(packed)
        y, lengths = pad_packed_sequence(out)
        reveal(y)
        reveal(lengths)
        """
        assert revealed(code) == ["cuda", "cpu", "cuda", "cpu"]

    def test_a_packed_sequence_that_the_module_does_not_meet(self):
        code = """
        from torch.nn.utils.rnn import pack_sequence
        nn.LSTM(3, 3).cuda()(pack_sequence([torch.zeros(4, 3)]))
        """
        assert len(met(code)) == 1


class TestHooks:
    def test_what_a_framework_hands_in_is_with_the_module(self):
        code = """
        import lightning as L
        class Lit(L.LightningModule):
            def training_step(self, batch, batch_idx):
                x, y = batch
                reveal(x.relu())
            def predict(self, batch):
                reveal(batch.relu())
        """
        assert revealed(code) == ["δ(self)", "δ(batch)"]

    def test_its_log_is_no_meeting(self):
        code = """
        import lightning as L
        class Lit(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)
            def training_step(self, batch, batch_idx):
                loss = self.proj(batch).mean()
                self.log_dict({"loss": loss, "steps": torch.zeros(1)})
                return loss
        """
        assert met(code) == []

    def test_a_trainer_that_moves_its_inputs(self):
        code = """
        from transformers import Trainer
        class Own(Trainer):
            def compute_loss(self, model, inputs):
                weights = torch.tensor([1.0, 2.0])
                return inputs["labels"].float() * weights
        """
        assert len(met(code)) == 1


def test_a_users_object_in_a_library_call_is_still_one_move():
    facts = given(GRAPHS + "data = Data(x=torch.zeros(3))\ndata.cuda()\n")
    assert "module data: cpu -> cuda" in moves(facts)


def test_metrics_live_where_they_were_put():
    code = """
    from torchmetrics import Accuracy
    accuracy = Accuracy(task="binary").to("cuda")
    accuracy.update(torch.zeros(3), torch.zeros(3))
    accuracy.update(torch.zeros(3).cuda(), torch.zeros(3).cuda())
    """
    assert len(met(code)) == 2
    assert all("accuracy@cuda" in said for said in meetings(given(code)))


def test_a_model_that_a_function_hands_on_may_be_anywhere():
    code = TOKENS + dedent("""
        import pipelines
        def staged(model):
            stage = pipelines.build(model)
            model.stage = stage
            return model
        model = staged(AutoModel.from_pretrained("name"))
        model(torch.zeros(3).cuda())
    """)
    assert met(code) == []


GRAPH = """
    import copy
    import numpy as np

    class Graph:
        def __init__(self, nodes: np.ndarray):
            self.nodes = nodes

        def to_torch(self):
            other = {}
            other.nodes = torch.from_numpy(self.nodes).float().cuda()
            return other

    def check(nodes: np.ndarray):
        graph = Graph(nodes)
        moved = graph.to_torch()
        return np.max({}.nodes)
"""


class TestCopies:
    def test_what_is_set_on_a_copy_is_not_the_objects_own(self):
        assert host_reads(given(GRAPH.format("copy.deepcopy(self)", "graph"))) == []
        (found,) = host_reads(given(GRAPH.format("self", "graph")))
        assert found.startswith("np.max of graph.nodes@cuda")

    def test_a_copy_of_a_module_is_moved_by_itself(self):
        code = """
        import copy
        x = torch.zeros(3).cuda()
        net = nn.Linear(3, 3)
        other = copy.deepcopy(net)
        {}.cuda()
        other(x)
        """
        assert met(code.format("other")) == []
        assert len(met(code.format("net"))) == 1


CHAIN = """
    from torchvision import transforms

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def chain(trained):
        if trained:
            return transforms.Compose([transforms.RandomCrop(4), transforms.ToTensor()])
        return transforms.Compose([transforms.ToTensor()])

    def run(image, wide: torch.Tensor):
        net = nn.Linear(4, 4).to(device)
        prepare = {}
        return net(prepare({}))
"""


@pytest.mark.parametrize(
    ("prepare", "image", "contradicts"),
    [
        ("transforms.Compose([transforms.Resize(4), transforms.ToTensor()])", "image", True),
        ("transforms.Compose([transforms.ToTensor(), lambda x: x * 2])", "image", True),
        ("transforms.Compose([transforms.ToTensor(), lambda x: x.to(device)])", "image", False),
        ("transforms.Compose([transforms.ToTensor(), transforms.Lambda(f)])", "image", False),
        ("transforms.Compose([transforms.ToTensor(), f])", "image", False),
        ("transforms.Compose([transforms.Resize(4)])", "image", False),
        ("transforms.Compose([transforms.Resize(4)])", "wide.to(device)", False),
        ("transforms.Compose([transforms.Resize(4)])", "wide.cpu()", True),
        ("transforms.Compose(f)", "image", False),
        ("chain(True)", "image", True),
    ],
)
def test_a_chain_of_transforms_gives_what_its_last_one_makes(prepare, image, contradicts):
    found = met(CHAIN.format(prepare, image))
    assert any("possible" not in m for m in found) is contradicts


PACKED = """
    from torch.nn.utils.rnn import pack_padded_sequence

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 3)
            self.lstm = nn.LSTM(3, 3, batch_first=True)

        def forward(self, words, lengths):
            counted = (words != 0).sum(1)
            packed = pack_padded_sequence(self.embedding(words), {}, batch_first=True)
            return self.lstm(packed)
"""


@pytest.mark.parametrize(
    ("lengths", "shown"),
    [
        ("counted", True),
        ("counted.cpu()", False),
        ("counted.tolist()", False),
        ("lengths", False),  # of the caller's, who may know that they belong on the host
    ],
)
def test_lengths_that_are_counted_in_the_input_are_where_it_is(lengths, shown):
    found = host_reads(given(PACKED.format(lengths)))
    assert any(read.endswith("likely") for read in found) is shown


@pytest.mark.parametrize(
    ("inputs", "shown"),
    [
        ("batch['words']", True),
        ("self.words", False),  # nothing else of the batch is read
        ("other['words']", False),
    ],
)
def test_lengths_that_come_with_a_batch_are_where_the_rest_of_it_is(inputs, shown):
    code = PACKED.format("torch.clamp(batch['lengths'], min=1)")
    code = code.replace("words, lengths):", "batch, other):").replace("(words", f"({inputs}")
    found = host_reads(given(code))
    assert any(read.endswith("likely") for read in found) is shown


@pytest.mark.parametrize(
    ("loop", "contradicts"),
    [
        ("for k in batch: batch[k] = batch[k].to(device)", False),
        ("for k in batch.keys(): batch[k] = batch[k].to(device)", False),
        ("for k in batch: batch[k].to(device)", True),
        ("for k in names: batch[k] = batch[k].exp()", True),
    ],
)
def test_a_batch_is_moved_entry_by_entry(loop, contradicts):
    found = met(f"""
    from transformers import AutoModel, AutoTokenizer

    def run(name, texts, names, device=torch.device("cuda")):
        model = AutoModel.from_pretrained(name).to(device)
        batch = AutoTokenizer.from_pretrained(name)(texts, return_tensors="pt")
        {loop}
        return model(**batch)
    """)
    assert bool(found) is contradicts


class TestTensorDicts:
    CODE = """
        from tensordict import TensorDict

        def run(rows: torch.Tensor):
            held = TensorDict({{"a": rows}}, batch_size=[4])
            {statement}
            return held
    """

    def test_a_move_returns_a_new_one(self):
        facts = given(self.CODE.format(statement='held.to("cuda")'))
        assert [move.discarded for move in facts.moves] == [True]

    @pytest.mark.parametrize("call", ["apply_(print)", "numpy()", "tolist()"])
    def test_what_tensors_can_do_as_well_works_on_the_entries(self, call):
        code = self.CODE.format(statement=f"held.cuda().clone().{call}")
        assert host_reads(given(code)) == []


def test_what_a_constructor_calls_does_not_settle_what_other_methods_leave():
    code = """
        class Tally:
            def __init__(self, n):
                self.seen = torch.zeros(n)
                self.reset()

            def reset(self):
                self.seen.zero_()

            def update(self, labels, at):
                for row in range(at):
                    reveal(self.seen[row])
                    self.seen[row] = labels[row]
        """
    assert revealed(code) == ["cpu"]


class TestModulesOfObjects:
    """An object that is no module takes nothing along when it is moved: nobody can move it."""

    READER = """
    from torch.utils.data import Dataset
    class Speech(Dataset):
        def __init__(self, paths):
            self.paths = paths
            self.resample = nn.Linear(4, 4)
            self.waves = [self.load(path) for path in paths]

        def load(self, path):
            return self.resample(torch.from_numpy(np.load(path)))
    """

    def test_a_module_is_where_the_object_made_it_while_that_is_made(self):
        assert meetings(given("import numpy as np\n" + dedent(self.READER))) == []


FOUND = """
class Found:
    def __init__(self, rows):
        self.rows = rows
        {body}

class Finder(nn.Module):
    def __init__(self, net):
        super().__init__()
        {kept}

    def forward(self, images):
        x = images.to(next(self.net.parameters()).device)
        return Found({given})
"""
SCALED = "self.scaled = [row / size for row, size in zip(self.rows, [torch.ones(3)])]"


SIFT = """
def sift(rows):
    kept = [torch.zeros(0, 4)] * len(rows)
    for i, row in enumerate(rows):
        kept[i] = torch.cat((row[:, :2], row[:, 2:]), 1)
    return kept
"""


def clashes(code: str) -> list[str]:
    """What the constructor brings together, as its calls show."""
    return [each for each in met(code) if "δ(self)" in each and " inside " in each]


@pytest.mark.parametrize("kept", ["self.net = net", "self.net = net.eval()  # frozen"])
@pytest.mark.parametrize("given", ["self.net(x)", "self.net(x)[0]"])
@pytest.mark.parametrize("body", [SCALED, "self.scaled = rows[0] * torch.arange(4)"])
def test_the_constructor_of_a_plain_object_computes_where_it_is_given(kept, given, body):
    assert len(clashes(FOUND.format(kept=kept, given=given, body=body))) == 1


def test_each_element_of_a_list_is_handed_in_where_it_is():
    code = SIFT + FOUND.format(kept="self.net = net", given="sift(self.net(x))", body=SCALED)
    assert len(clashes(code)) == 1


@pytest.mark.parametrize("given", ["self.net(x).cpu()", "images.size(0)", "[1, 2]"])
def test_and_is_content_with_what_is_on_the_host(given):
    assert not clashes(FOUND.format(kept="self.net = net", given=given, body=SCALED))


def test_the_constructor_of_a_module_runs_before_anybody_moves_it():
    code = FOUND.replace("class Found:", "class Found(nn.Module):")
    body = "super().__init__(); self.scaled = rows * torch.arange(4)"
    assert not clashes(code.format(kept="self.net = net", given="self.net(x)", body=body))
