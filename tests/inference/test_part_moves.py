"""`graph.apply(lambda part: part.to(device))` moves all that an object holds, in place."""

import pytest
from given import met

GRAPH = """
class Graph:
    def __init__(self, x, edges):
        self.x = x
        self.edges = edges

    def apply(self, function):
        for name in self.__dict__:
            setattr(self, name, function(getattr(self, name)))


def run(device):
    graph = Graph(torch.zeros(3), torch.zeros(2, 3))
    {applied}
    return graph.x + torch.ones(3, device="cuda")
"""


@pytest.mark.parametrize(
    ("applied", "meetings"),
    [
        ("graph.apply(lambda part: part.cuda())", 0),
        ('graph.apply(lambda part: part.to("cuda"))', 0),
        ("graph.apply(lambda part: part.to(device))", 0),
        ("graph.apply(lambda part: part.float())", 1),
        ("graph.apply(lambda part: other.cuda())", 1),
        ("pass", 1),
    ],
)
def test_the_parts_are_where_each_of_them_is_brought(applied, meetings):
    assert len(met(GRAPH.format(applied=applied))) == meetings


def test_a_parameter_is_moved_as_a_whole():
    code = """
    def run(graph):
        graph.apply(lambda part: part.cuda())
        return torch.relu(graph.x) + torch.ones(3{})
    """
    assert met(code.format(', device="cuda"')) == []
    (meeting,) = met(code.format(""))
    assert "graph.x)@cuda" in meeting


def test_what_is_moved_afterwards_comes_from_the_host():
    """`graph.adjacency += torch.eye(n)` stands above the move: a move says where its source is
    not."""
    code = """
    def fit(graph, device: torch.device):
        graph.adjacency = torch.relu(graph.adjacency) + torch.eye(3){}
        return graph
    """
    moved = "\n        graph.apply(lambda part: part.to(device))"
    (certain,) = met(code.format(""))
    (doubted,) = met(code.format(moved))
    assert certain.endswith("likely") and doubted.endswith("possible")


def test_a_module_s_apply_is_given_all_its_layers():
    code = """
    net = nn.Linear(3, 3)
    {}
    y = net(torch.zeros(3, device="cuda"))
    """
    assert met(code.format("net.apply(lambda layer: layer.cuda())")) == []
    assert len(met(code.format("net.apply(lambda layer: layer.float())"))) == 1
