"""A project that trains and names no accelerator keeps its modules on the host."""

import pytest
from given import settled

from devlint.inference.call_contexts import Feeds

ACTOR = """
class Actor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Linear(width, 2)

    def act(self, observation):
        return self.net(observation).numpy()

def learn(make=Actor{more}):
    actor = make(4)
    {moved}
    loss = actor.net(torch.rand(3, 4)).sum()
    loss.backward()
"""


@pytest.mark.parametrize(
    ("more", "moved", "is_against"),
    [("", "pass", True), (", device='cuda'", "actor.to(device)", False)],
)
def test_what_a_module_gives_numpy(more, moved, is_against):
    facts = settled(ACTOR.format(more=more, moved=moved))
    (read,) = facts.host_reads
    assert read.given is not None
    kinds = [kind.value for kind, _ in Feeds(facts.feeds).verdict(read.given).against]
    assert kinds == ["module-leaves-host"] * is_against


def test_a_library_of_modules_is_for_others_to_move():
    facts = settled(ACTOR.format(more="", moved="pass").replace("loss.backward()", "return loss"))
    (read,) = facts.host_reads
    assert read.given is not None
    assert Feeds(facts.feeds).verdict(read.given).against == ()
