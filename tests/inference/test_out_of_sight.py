"""Meetings out of sight: by an unknown callee, by the shape, by another return."""

import pytest
from given import given, met, revealed

HEAD = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(3, 3)

    def forward(self, x, flag=False):
        h = self.proj(x)
"""


def in_forward(*lines):
    return HEAD + "".join(f"        {line}\n" for line in lines)


def test_an_unknown_callee_keeps_the_device_of_its_arguments():
    code = "import somewhere\nx = torch.zeros(3).cuda()\n"
    assert revealed(f"{code}reveal(somewhere.rearrange(x))") == ["cuda"]


def test_what_came_through_an_unknown_callee_is_never_certain():
    assert met(in_forward("return mix(h) + torch.zeros(3)")) == [
        "torch.zeros(3)@cpu + mix(h)@δ(self) likely"
    ]


def test_an_unknown_callee_may_have_its_tensors_for_different_ends():
    assert met(in_forward("p = torch.arange(3)", "return attend(h, p)")) == [
        "callee: p@cpu attend h@δ(self) possible"
    ]


@pytest.mark.parametrize(
    "call", ["print(h, p)", "log_shapes(h, p)", "Record(h, p)", "save(h, p)", "assert_close(h, p)"]
)
def test_callees_that_take_anything_side_by_side(call):
    assert met(in_forward("p = torch.arange(3)", call, "return h")) == []


@pytest.mark.parametrize(
    ("lines", "confidence"),
    [
        (("return z",), "possible"),  # an output, perhaps one that nobody computes with
        (("return z, h.new_zeros(3)",), "likely"),  # others are made where the inputs are
        (("return z, h",), "likely"),  # who uses one uses the other
        (('return {"mask": z, "hidden": h}',), "likely"),
        (("return z, h.shape",), "possible"),
        (("return torch.logical_or(z, torch.ones(3).to(target()))",), "likely"),
    ],
)
def test_a_tensor_made_in_the_shape_of_another_belongs_beside_it(lines, confidence):
    [meeting] = met(in_forward("z = torch.zeros(h.size(0), 3)", *lines))
    assert meeting.startswith("shape: torch.zeros(h.size(0), 3)@cpu shape h.size(0)@δ(self)")
    assert meeting.endswith(confidence)


@pytest.mark.parametrize(
    "lines",
    [
        ("z = torch.zeros(h.size(0), 3, device=h.device)", "return z"),
        ("z = torch.zeros(h.size(0), 3)", "return z.to(h.device)"),
        ("z = torch.zeros(h.size(0))", "print(z.tolist())", "return h"),
        ("z = h.new_zeros(h.size(0))", "return z"),
        ("z = torch.zeros_like(h)", "return z"),
    ],
)
def test_one_that_is_placed_moved_or_read_by_the_host_is_all_right(lines):
    assert met(in_forward(*lines)) == []


def test_one_in_a_function_that_goes_on_on_the_host_is_no_more_than_possible():
    lines = ("rows = rank(h.detach().cpu())", "z = torch.zeros(h.size(0))", "z[rows] = 1")
    [meeting] = met(in_forward(*lines, "return z"))
    assert meeting.endswith("possible")


def test_one_that_meets_the_other_is_told_where_it_does():
    assert met(in_forward("z = torch.arange(h.shape[1])", "return z + h")) == [
        "z@cpu + h@δ(self) certain"
    ]


def test_two_returns_belong_on_one_device():
    code = in_forward("if h.dim() == 3:", "    return torch.zeros(3)", "return h")
    assert met(code) == ["return: return torch.zeros(3)@cpu return return h@δ(self) likely"]


def test_returned_tuples_are_compared_part_by_part():
    odd = in_forward("if flag:", "    return h, torch.zeros(3)", "return h, h * 2")
    assert len(met(odd)) == 1
    even = in_forward("if flag:", "    return torch.zeros(3), h", "return torch.ones(3), h * 2")
    assert met(even) == []


def test_returning_none_or_a_number_is_no_contradiction():
    assert met(in_forward("if flag:", "    return None", "return h")) == []


def test_a_value_that_one_branch_moves_is_the_callers_choice():
    code = """
        def quality(x: torch.Tensor, keep: bool):
            score = torch.tensor(judge(x.cpu().numpy()).tolist())
            if keep:
                return score.to(x.device)
            return {other}
    """
    assert met(code.format(other="score")) == []
    assert met(code.format(other="torch.zeros(3)")) != []


@pytest.mark.parametrize(
    ("first", "second", "contradicts"),
    [(".to(x.device)", ".cuda()", False), (".to(x.device)", "", True)],
)
def test_what_every_caller_moves_may_be_returned_from_anywhere(first, second, contradicts):
    found = met(f"""
        def areas(boxes: torch.Tensor):
            if len(boxes) == 0:
                return torch.zeros(1)
            return boxes.prod(-1)

        def small(x: torch.Tensor):
            return areas(x){first}

        def large(x: torch.Tensor):
            return areas(x){second}
    """)
    assert bool(found) is contradicts


def test_what_an_unknown_callee_returns_is_too_little_to_compare_with():
    code = """
        def tree(weights: torch.Tensor, fast: bool):
            return {other} if fast else torch.zeros(3)
    """
    assert [m[-8:] for m in met(code.format(other="extension().tree(weights)"))] == ["possible"]
    assert [m[-6:] for m in met(code.format(other="weights.cumsum(0)"))] == ["likely"]


@pytest.mark.parametrize(
    ("last", "contradicts"), [("print(noisy(torch.ones(3)))", False), ("", True)]
)
def test_a_script_shows_what_comes_out_and_a_library_does_not(last, contradicts):
    found = met(f"""
        def noisy(wave: torch.Tensor):
            return wave.cumsum(0) + torch.randn(3)

        {last}
    """)
    assert any(not m.endswith("possible") for m in found) is contradicts


@pytest.mark.parametrize(("call", "found"), [("model.score(x)", 0), ("model(x)", 1)])
def test_a_method_of_a_moved_object_out_of_sight_may_give_anything(call, found):
    code = f"""
    from elsewhere import Scorer

    model = Scorer(3).to("cuda")

    def total(x: torch.Tensor):
        result = torch.zeros(4)
        result += {call} * 2
        return result
    """
    assert len(met(code)) == found


@pytest.mark.parametrize(("options", "found"), [("**options", 0), ("dtype=torch.float", 1)])
def test_options_out_of_sight_may_hold_a_device(options, found):
    code = f"""
    def weights(values, **options):
        return torch.as_tensor(values, {options})

    def weigh(x: torch.Tensor):
        return x.exp() @ weights([1.0, 2.0], device=x.device)
    """
    assert len(met(code)) == found


@pytest.mark.parametrize(
    ("path", "confidence"), [("data/batch.py", "possible"), ("a.py", "likely")]
)
def test_one_in_code_that_prepares_data_is_no_more_than_possible(path, confidence):
    code = """
    def increment(store: torch.Tensor):
        offset = torch.zeros(store.size(0), 1)
        return offset.view(-1), torch.ones_like(store)
    """
    [meeting] = given(code, path=path).meetings
    assert meeting.confidence.value == confidence


@pytest.mark.parametrize(
    ("names", "confidence"),
    [("images, stamp", "possible"), ("images, masks", "likely"), ("stamp, masks", "possible")],
)
def test_a_model_need_not_compute_with_all_that_it_is_given(names, confidence):
    first = names.partition(", ")[0]
    code = f"""
    def test(loader, model):
        for {names} in loader:
            {first} = {first}.cuda()
            {{}}({names})
    """
    (found,) = met(code.format("model"))
    assert found.endswith(confidence)


@pytest.mark.parametrize(
    ("callee", "found"),
    [
        ("place", 0),
        ("cuda_if_on", 0),
        ("on_gpu", 0),
        ("as_device", 0),
        ("transfer_batch", 0),
        ("variable", 0),
        ("frobnicate", 1),
        ("replace", 1),
    ],
)
@pytest.mark.parametrize("then", ["out[0] = 1\n    return out", "return x + out"])
def test_a_callee_that_moves_by_its_name_moves_what_it_is_handed(callee, found, then):
    code = f"""
from helpers import {callee}

def shift(x: torch.Tensor):
    out = {callee}(torch.zeros(x.size(0)))
    {then}
"""
    assert len(met(code)) == found


@pytest.mark.parametrize(
    ("call", "place"),
    [
        ("near(rows, others, 3, batch_x=numbers, batch_y=numbers)", "no tensor"),
        ("near(numbers, 3)", "cpu"),
        ("near(batch_x=numbers)", "cpu"),
        # it computes with the rows, wherever those are
        ("near(rows, start=numbers)", "?"),
    ],
)
def test_a_result_is_not_where_the_numbers_of_a_batch_are(call, place):
    code = f"""
    from clusters import near

    def prepare(rows, others):
        numbers = torch.zeros(len(rows), dtype=torch.long)
        reveal({call})
    """
    assert revealed(code) == [place]


@pytest.mark.parametrize(("kept", "found"), [("table[:, 0::2]", 0), ("self.waves", 1)])
def test_what_is_written_into_a_table_goes_where_that_is_moved(kept, found):
    code = f"""
    class Encode(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.width = width
            self.lin = nn.Linear(width, width)

        def extend(self, x: torch.Tensor):
            table = torch.zeros(x.size(1), self.width)
            position = torch.arange(x.size(1)).unsqueeze(1)
            scale = torch.exp(torch.arange(0, self.width, 2) * -0.5)
            {kept} = torch.sin(position * scale)
            self.table = table.to(x.device)
            return self.lin(x)
    """
    assert len([m for m in met(code) if "position" in m or "arange" in m]) == found


SAMPLER = """
class Sampler(nn.Module, abc.ABC):
    @abc.abstractmethod
    def {name}(self, x): ...

    def forward(self, x: torch.Tensor):
        noise = torch.randn(x.size(0), 3)
        {end}
"""


@pytest.mark.parametrize(
    ("end", "confidence"),
    [
        ("return noise * self.spread(x)", "likely"),  # perhaps a tensor: then they meet
        ("return noise * 2", "possible"),
    ],
)
def test_what_is_perhaps_a_tensor_does_not_hide_one_made_in_the_shape_of_another(end, confidence):
    [found] = met("import abc\n" + SAMPLER.format(name="spread", end=end))
    assert found == f"shape: torch.randn(x.size(0), 3)@cpu shape x.size(0)@δ(x) {confidence}"


def test_one_that_goes_where_the_result_is_does_not_stay_behind():
    end = "return noise.to(self.spread(x).device) * self.spread(x)"
    assert met("import abc\n" + SAMPLER.format(name="spread", end=end)) == []


FILLED = """
def pairs(rows: torch.Tensor, others: torch.Tensor):
    table = torch.zeros(rows.shape[1], 3)
    for i in range(3):
        table[:, i] = {written}
    return {result}
"""


@pytest.mark.parametrize(
    ("written", "result", "confidence"),
    [
        ("(rows * others).mean(0)", "table.pow(2)", "likely"),
        ("(rows * others).mean(0)", "torch.abs(table - 1).sum()", "likely"),
        ("(rows * others).mean(0)", "table", "possible"),  # the host may have collected it
        ("(rows * others).mean(0).cpu()", "table.pow(2)", "possible"),
        ("0.5", "table.pow(2)", "possible"),
        ("(rows * others).mean(0)", "table.to(rows.device)", ""),
        ("(rows * others).mean(0)", "table.tolist()", ""),
    ],
)
def test_what_is_computed_of_a_table_filled_from_inputs_belongs_where_they_are(
    written, result, confidence
):
    found = met(FILLED.format(written=written, result=result))
    assert [each.rpartition(" ")[2] for each in found] == ([confidence] if confidence else [])


@pytest.mark.parametrize(
    ("callee", "confidence"),
    [("focal_loss", "likely"), ("criterion", "likely"), ("blend", "possible")],
)
def test_a_loss_out_of_sight_computes_with_all_tensors_that_it_is_given(callee, confidence):
    lines = ("weights = torch.ones(3)", f"return {callee}(h, weights)")
    [meeting] = met(in_forward(*lines))
    assert meeting.endswith(confidence)


@pytest.mark.parametrize("second", ["lengths", "3", "weights.to(h.device)"])
def test_a_loss_is_given_lengths_and_numbers_from_the_host(second):
    lines = ("lengths = weights = torch.ones(3)", f"return criterion(h, {second})")
    assert not any(each.endswith(("likely", "certain")) for each in met(in_forward(*lines)))


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("pack(scores, second)", []),  # a list of lengths, for all one knows
        ("second.numpy()", ["second"]),
        ("second + torch.zeros(3)", []),
    ],
)
def test_a_part_of_what_a_model_out_of_sight_gives_is_of_any_kind(use, found):
    code = f"""
from torch.nn.utils.rnn import pack_padded_sequence as pack

def validate(loader, decoder, device):
    decoder.eval()
    for images in loader:
        scores, second = decoder(images.to(device))
        print({use})
"""
    assert [fact.operand.name for fact in given(code).host_reads] == found


def test_a_part_that_is_computed_with_is_a_tensor():
    code = """
def validate(loader, decoder, device):
    decoder.eval()
    for images in loader:
        scores, second = decoder(images.to(device))
        print(second + torch.zeros(3))
"""
    assert met(code) == ["torch.zeros(3)@cpu + second@δ(device) certain"]


@pytest.mark.parametrize("prepare", ["", "decoder.train()", "decoder.eval()"])
def test_lengths_that_a_model_gives_may_be_a_list(prepare):
    code = f"""
def train(loader, decoder, device):
    {prepare}
    for images in loader:
        images = images.to(device)
        scores, lengths = decoder(images * 2)
        print(torch.nn.utils.rnn.pack_padded_sequence(scores, lengths))
"""
    assert given(code).host_reads == []


@pytest.mark.parametrize(("callee", "count"), [("pose_net", 1), ("refine_pose_net", 0)])
def test_what_does_something_with_a_module_gives_an_array_perhaps(callee, count):
    code = f"""
        import numpy as np

        def run(optim, points: torch.Tensor):
            found = optim.{callee}(points.cuda())
            return np.linalg.inv(found[0])
    """
    reads = [each for each in given(code).host_reads if each.confidence.rank > 0]
    assert len(reads) == count


@pytest.mark.parametrize(
    "sizes",
    ["rows, columns = x.size()", "rows, columns = x.shape", "(rows, _), columns = x.shape, 3"],
)
def test_numbers_unpacked_from_a_shape_are_of_its_tensor(sizes):
    (found,) = met(f"""
    def blank(x: torch.Tensor):
        {sizes}
        return torch.zeros(rows, columns)
    """)
    assert found.startswith("shape: torch.zeros(rows, columns)@cpu shape")


def test_a_result_of_many_entries_holds_each_of_them():
    (found,) = met("""
    def parts(pose: torch.Tensor, shape=None, face=None, hands=None):
        face = face if face is not None else torch.zeros(pose.shape[0], 10)
        return {"shape": shape, "face": face, "hands": hands, "pose": pose}
    """)
    assert found.startswith("shape: ") and found.endswith("likely")


def test_a_module_in_a_list_that_a_call_out_of_sight_is_given_may_be_anywhere():
    code = """
    from somewhere import Bundle

    def build():
        encode, decode = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(x):
            return decode(encode(x))

        return {kept}
    """
    assert met(code.format(kept="Bundle([encode, decode], forward)")) == []
    assert met(code.format(kept='Bundle({"a": encode, "b": decode}, forward)')) == []
    assert met(code.format(kept="forward")) != []
