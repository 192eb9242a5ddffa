"""A move on a line of its own: of what has a method that no tensor has, it is one in place."""

import pytest
from given import given


@pytest.mark.parametrize(
    ("use", "is_lost"),
    [
        ("net.llm.resize_embeddings(5)", False),
        ("print(net.llm.view(5))", True),
        ("net.other.resize_embeddings(5)", True),
    ],
)
def test_a_part_of_an_object_is_moved(use, is_lost):
    code = f"""
        def load(net, path):
            net.llm = torch.zeros(3).cuda() + net.scale
            net.llm.cpu()
            {use}
            return net
    """
    assert bool(given(code).moves[1:]) is is_lost
