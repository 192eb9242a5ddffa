"""Data that is on the host by what holds it, makes it or asks for it."""

import pytest
from given import given, host_reads, meetings, met, plain_attributes, settled


@pytest.mark.parametrize("holder", ["dataset", "train_dataset", "state_dict", "checkpoint"])
def test_what_holds_data_or_weights_is_on_the_host(holder):
    code = f"""
def scale({holder}, device):
    model = nn.Linear(3, 3).to(device)
    return {holder}["x"].unsqueeze(0) * torch.arange(3)
"""
    assert met(code) == []


def test_any_other_argument_may_be_elsewhere():
    code = """
def scale(batch, device):
    model = nn.Linear(3, 3).to(device)
    return batch["x"].unsqueeze(0) * torch.arange(3)
"""
    assert met(code) == ['torch.arange(3)@cpu * batch["x"].unsqueeze(0)@δ(batch) likely']


@pytest.mark.parametrize(
    ("name", "count"), [("PaddingCollator", 0), ("RowDataset", 0), ("Padding", 1)]
)
def test_a_class_that_makes_batches_works_on_the_host(name, count):
    code = f"""
class {name}:
    def __call__(self, rows):
        lengths = torch.stack(rows)
        return torch.arange(lengths.size(0)) < lengths
"""
    assert len(met(code)) == count


def test_a_tokenizers_batch_is_its_own():
    code = """
def encode(self, images):
    batch = self.processor(images, return_tensors="pt")
    return torch.cat((batch["mask"], torch.zeros(3)))
"""
    assert met(code) == []


def test_an_unknown_callees_result_is_where_its_arguments_are():
    code = """
def encode(self, images: torch.Tensor):
    batch = self.processor(images)
    return torch.cat((batch["mask"], torch.zeros(3)))
"""
    assert len(met(code)) == 1


@pytest.mark.parametrize(
    ("argument", "count"),
    [("n_steps.data", 1), ("sizes.data", 0), ("class_idx=steps", 0), ("labels=steps", 1)],
)
def test_lengths_and_indices_may_be_on_the_host(argument, count):
    code = f"""
def decode(x: torch.Tensor, converter):
    n_steps = sizes = steps = torch.tensor([3, 4])
    return converter.fit(x.exp(), {argument})
"""
    assert len(met(code)) == count


@pytest.mark.parametrize(
    ("losses", "noted"),
    [
        ('{"ce": nn.CrossEntropyLoss(reduction="none"), "l2": nn.MSELoss()}', []),
        ('{"ce": nn.CrossEntropyLoss(weight=torch.ones(3))}', ["Net.losses@cpu (modules)"]),
        ('{"head": nn.Linear(3, 3)}', ["Net.losses@cpu (modules)"]),
    ],
)
def test_losses_without_weights_have_nothing_to_move(losses, noted):
    code = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.losses = {losses}
"""
    assert plain_attributes(given(code)) == noted


@pytest.mark.parametrize(("made", "count"), [("torch.tensor(3.0)", 0), ("torch.ones(3)", 1)])
def test_what_a_callee_computes_of_a_scalar_may_be_one(made, count):
    code = f"""
def stretch(t, size):
    return t * (size / 512) ** 0.5

def forward(t: torch.Tensor):
    return stretch(t, {made})
"""
    assert len([m for m in met(code) if "possible" not in m]) == count


@pytest.mark.parametrize(
    ("device", "count"),
    [("device if device else x.device", 0), ("device or x.device", 0), ("device", 1)],
)
def test_a_device_that_is_not_given_is_asked_for(device, count):
    code = f"""
def ones(x, device=None):
    device = {device}
    return torch.ones(3, device=device)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 3)

    def forward(self, x):
        return self.head.weight * ones(x)
"""
    assert len(met(code)) == count


def test_what_a_subclass_of_tensor_keeps_beside_its_elements():
    code = """
def spacing(x, device):
    y = torch.zeros(3).to(device)
    if isinstance(x, torch.Tensor):
        return x.notes["spacing"].numpy()
"""
    assert host_reads(given(code)) == []


@pytest.mark.parametrize("test", ["not isinstance(x, torch.Tensor)", "isinstance(x, np.ndarray)"])
def test_what_is_made_of_an_array_is_where_the_caller_had_it(test):
    code = f"""
import numpy as np
def centre(x, device):
    mask = torch.zeros(3).to(device)
    if {test}:
        x = torch.as_tensor(x)
    return x

def norm(x, centres, device):
    mask = torch.zeros(3).to(device)
    if {test}:
        x = torch.tensor(x)
    elif x.ndim == 1:
        return x.unsqueeze(0)
    return x
"""
    assert met(code) == []


def test_what_is_made_of_a_list_on_the_way_is_not():
    code = """
def norm(x: torch.Tensor, size, device):
    mask = torch.zeros(3).to(device)
    if x.ndim == 1:
        return x.unsqueeze(0)
    return torch.tensor([size])
"""
    assert met(code) == [
        "return: return torch.tensor([size])@cpu return return x.unsqueeze(0)@δ(x) possible"
    ]


FEEDING = """
def mixed(matrices: list[torch.Tensor]):
    return torch.cat(matrices) + torch.eye(3)

def start(layers, device):
    return mixed([{first}, layer.bias.cpu()]).to(device)

{more}
"""


@pytest.mark.parametrize(
    ("first", "more", "confidence"),
    [
        ("layers[0].weight.cpu()", "", "possible"),
        ("torch.from_numpy(read())", "", "possible"),
        ("torch.load(path, map_location='cpu')", "", "possible"),
        ("layers[0].weight.cuda()", "", "likely"),
        ("layers[0].weight.cpu()", "def on(x):\n    return mixed([x.cuda()])", "likely"),
    ],
)
def test_a_function_that_all_callers_feed_from_the_host(first, more, confidence):
    assert meetings(settled(FEEDING.format(first=first, more=more)))[0] == (
        f"torch.eye(3)@cpu + torch.cat(matrices)@δ(matrices) {confidence}"
    )


def test_a_demonstration_is_no_ordinary_caller():
    code = """
def mixed(matrices: list[torch.Tensor]):
    return torch.cat(matrices) + torch.eye(3)

def start(device):
    return nn.Linear(3, 3).to(device)

mixed([torch.zeros(3)])
"""
    assert meetings(settled(code)) == ["torch.eye(3)@cpu + torch.cat(matrices)@δ(matrices) likely"]


def test_a_helper_inside_of_what_makes_a_batch():
    code = """
def get_batch(rows, size, device):
    def padded(row):
        return torch.cat((row, torch.zeros(size - len(row))))
    return torch.stack([padded(row) for row in rows]).to(device)
"""
    assert met(code) == []


PINNED = """
from zoo import CPUEngine, Engine, Runner

class Sampler:
    def act(self, network: nn.Module, state):
        state = torch.tensor([state, 1.0])
        return network(state).detach().cpu().numpy()

if __name__ == "__main__":
    Runner({pin}).train()
"""


@pytest.mark.parametrize(
    ("pin", "confidence"),
    [
        ("engine=CPUEngine()", "possible"),
        ('accelerator="cpu"', "possible"),
        ('device="cpu"', "possible"),
        ("engine=Engine()", "likely"),
        ('accelerator="gpu" if Engine.gpus else "cpu"', "likely"),
        ('device="cpu" if Engine.small else "cuda"', "likely"),
    ],
)
def test_a_script_that_keeps_to_the_cpu_has_no_accelerator(pin, confidence):
    (meeting,) = met(PINNED.format(pin=pin))
    assert meeting.endswith(confidence), meeting


def test_a_device_that_is_an_option_keeps_nothing_to_the_cpu():
    code = PINNED.format(pin="") + "\ndef main(device='cpu'):\n    Runner().train(device)\n"
    (meeting,) = met(code)
    assert meeting.endswith("likely"), meeting


@pytest.mark.parametrize(
    ("annotation", "count"),
    [
        ("str | list[str] | np.ndarray", 0),
        ("list[str] | np.ndarray", 0),
        ("list[list[int]]", 0),
        ("list", 1),
        ("list[torch.Tensor] | np.ndarray", 1),
        ("str | torch.Tensor", 1),
    ],
)
def test_a_tokenizer_makes_tensors_of_what_has_no_device(annotation, count):
    code = f"""
import numpy as np

class Encoder(nn.Module):
    def encode(self, rows: {annotation}, device):
        found = self.tokenize(rows)
        return torch.cat((found["ids"], torch.ones(3, 2))).to(device)
"""
    assert len(met(code)) == count


@pytest.mark.parametrize(
    ("kind", "count"), [("torch.LongTensor", 0), ("y.type()", 0), ("torch.int64", 1)]
)
def test_a_type_of_the_cpu_puts_it_there(kind, count):
    code = f"""
class Net(nn.Module):
    def forward(self, x, y):
        return torch.zeros(3, 4).scatter_(1, x.type({kind}), 1)
"""
    assert len(met(code)) == count


@pytest.mark.parametrize(("move", "count"), [(".type(x.type())", 0), ("", 1)])
def test_the_type_of_another_moves_to_it(move, count):
    code = f"""
def norm(x: torch.Tensor, device):
    y = nn.Linear(3, 3).to(device)
    return F.conv1d(x.pow(2), torch.ones(x.size(0), 1, x.size(2)){move})
"""
    assert len(met(code)) == count


CACHE = """
import numpy as np

class Detector(nn.Module):
    def start(self, cache):
        {entry}

    def detect(self, wave, cache, device):
        rows = torch.from_numpy(np.asarray(wave))
        rows = torch.cat((cache["rest"], rows))
        cache["rest"] = rows[-3:]
        return self(rows.to(device))
"""


def test_an_entry_that_the_class_makes_on_the_host_is_there_in_its_own_calls():
    code = (
        CACHE.format(entry='cache["rest"] = torch.ones(3)')
        + """
    def join(self, rows, cache):
        return torch.cat((cache["rest"], rows))

    def run(self, rows: torch.Tensor):
        cache = {"rest": torch.ones(3)}
        return self.join(rows.cuda(), cache)
"""
    )
    assert len([m for m in met(code) if "self.join" in m or "inside" in m]) == 1


@pytest.mark.parametrize(
    ("path", "found"), [("shop/rows.py", "likely"), ("shop/data/rows.py", "possible")]
)
def test_code_that_prepares_data_reads_what_is_on_the_host(path, found):
    code = "def rows(x: torch.Tensor):\n    return x.numpy()\n"
    (read,) = host_reads(given(code, path=path))
    assert read.endswith(found), read


@pytest.mark.parametrize(
    ("method", "found"), [("to", []), ("sorted", ["data-code-gets-device-tensors"])]
)
def test_a_method_of_what_is_brought_to_devices_itself_gets_tensors_of_devices(method, found):
    code = f"""
        class Rows:
            def {method}(self, device):
                return self
            def numbered(self, kinds: torch.Tensor):
                numbers = torch.empty_like(kinds)
                numbers[kinds == 1] = torch.arange(3)
                return numbers
    """
    (fact,) = given(code, path="shop/data/rows.py").meetings
    assert [a.kind.value for a in fact.assumptions if "data" in a.kind.value] == found
