"""What a library always gives on the host: nobody put it there on purpose, so it is as out of place
beside what lives elsewhere as a tensor made there by default."""

import pytest
from given import given


def met(code):
    """What meets what, and the assumptions that the meetings rest on."""
    return [
        (fact.left.name, fact.right.name, [each.kind.value for each in fact.assumptions])
        for fact in given(code).meetings
    ]


PADDED = """
    from torch.nn.utils.rnn import pad_packed_sequence
    class Masked(nn.Module):
        def forward(self, scores: torch.Tensor, packed):
            padded, lengths = pad_packed_sequence(packed, batch_first=True)
            {line}
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("return scores / lengths.unsqueeze(1)", [("lengths.unsqueeze(1)", "scores", [])]),
        (
            "return scores.masked_fill(torch.arange(9) >= lengths.unsqueeze(1), 0.0)",
            [("torch.arange(9) >= lengths.unsqueeze(1)", "scores", [])],
        ),
        ("return scores / lengths.to(scores.device).unsqueeze(1)", []),
        ("return scores[:, : int(lengths.max())]", []),
    ],
)
def test_the_lengths_of_a_padded_sequence_meet_what_is_elsewhere(line, found):
    assert met(PADDED.format(line=line)) == found


def test_what_was_put_on_the_host_on_purpose_may_be_meant_for_another_host_tensor():
    ((_, _, assumed),) = met("""
        class Masked(nn.Module):
            def forward(self, scores: torch.Tensor):
                return scores / torch.ones(3, device="cpu")
    """)
    assert assumed == ["explicit-host-meets-input"]
