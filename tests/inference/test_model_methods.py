"""Methods of a model whose class is out of sight: they compute with what they are given."""

import pytest
from given import met

MOVED = """
    def sample(model, board, n, device):
        {move}
        rows = torch.zeros(n, 4)
        return {call}
"""


@pytest.mark.parametrize("move", ["model.to(device)", "model = model.to(device)", "model.cuda()"])
def test_what_a_function_makes_is_an_input_of_the_model_that_it_moves(move):
    (found,) = met(MOVED.format(move=move, call="model.decode(rows)"))
    assert found.startswith("input: rows@cpu model ") and found.endswith("possible")


@pytest.mark.parametrize(
    "call",
    [
        "model.decode(rows.to(device))",
        "model.decode(torch.tensor(0))",  # perhaps read as a number
        "model.add_rows(rows)",  # it may keep them anywhere
        "model.decode(lengths=rows)",  # for the host
        "board.decode(rows)",
    ],
)
def test_what_may_stay_on_the_host_does(call):
    assert met(MOVED.format(move="model.to(device)", call=call)) == []


def test_a_graph_that_is_moved_is_no_model():
    assert (
        met("""
    def grown(graph, n, device):
        graph = graph.to(device)
        return graph.join(torch.zeros(n, 4))
    """)
        == []
    )


BESIDE = """
    def answer(model, x, device):
        {memory}
        latents = torch.zeros(4, 4)
        return model.decode(latents, {given})
"""


@pytest.mark.parametrize(
    ("memory", "given"),
    [
        ("x = x.to(device)", "x"),
        ("memory = model.encode(x.to(device))", "memory"),
    ],
)
def test_what_is_made_beside_moved_inputs_is_one(memory, given):
    (found,) = met(BESIDE.format(memory=memory, given=given))
    assert "latents@cpu" in found and found.endswith("likely")


def test_beside_what_was_not_moved_it_is_open():
    assert met(BESIDE.format(memory="pass", given="x")) == []


@pytest.mark.parametrize("given", ["torch.tensor([[1] * n])", "mask=torch.ones(n)"])
@pytest.mark.parametrize("model", ["self.model", "model"])
def test_what_is_made_for_a_model_is_an_input_beside_a_moved_one(model, given):
    code = f"""
    class Search:
        def run(self, model, rows, n):
            rows = rows.to(self.device)
            return {model}(rows, {{}})
    """
    (found,) = met(code.format(given))
    assert found.endswith("likely")
    assert met(code.format("torch.tensor(3)")) == []
    assert met(code.format("lengths=torch.tensor([1] * n)")) == []
    unmoved = met(code.replace("rows.to(self.device)", "rows.half()").format(given))
    assert not any(each.endswith(("likely", "certain")) for each in unmoved)
