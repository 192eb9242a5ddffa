"""An argument of a module's method is where the module is if the method brings it together with
what the module has, or is `forward`. Any other is where the callers have it."""

import pytest
from given import meetings, settled

CODEC = """
class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def window(self, wave):
        return wave * torch.hann_window(wave.shape[-1])

    def encode(self, wave):
        coded = self.proj(wave)
        return coded, wave * torch.hann_window(wave.shape[-1])

    def prepare(self, wave: torch.Tensor):
        return self.window(wave)

    def forward(self, wave):
        return self.proj(wave)

{more}
"""

OPEN = "torch.hann_window(wave.shape[-1])@cpu * wave@δ(wave) likely"
SHOWN = "torch.hann_window(wave.shape[-1])@cpu * wave@δ(wave) certain"
ON_HOST = "torch.hann_window(wave.shape[-1])@cpu * wave@δ(wave) possible"


def windows(more: str) -> list[str]:
    """The contradictions of `window` and of `encode`."""
    return meetings(settled(CODEC.format(more=more)))


def test_what_meets_the_module_s_own_is_where_that_is():
    assert windows("")[1] == SHOWN


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", OPEN),
        # what is computed where the module is
        ("    def run(self, wave):\n        return self.window(self.proj(wave))", SHOWN),
        # an input of a method that brings it to the module's own, before or after
        ("    def run(self, wave: torch.Tensor):\n"
         "        rows = self.window(wave)\n        return self.proj(wave) + rows", SHOWN),
        # `forward` is called by the module
        ("class Wide(Codec):\n    def forward(self, wave: torch.Tensor):\n"
         "        return self.window(wave)", SHOWN),
        # all calls in sight are of the host
        ("def read(path):\n    return Codec().window(torch.from_numpy(path))", ON_HOST),
        ("def read(path):\n    return Codec().prepare(torch.from_numpy(path))", ON_HOST),
        ("def read(net, x):\n    return Codec().cuda().window(x.cuda())", SHOWN),
    ],
)  # fmt: skip
def test_callers_decide_over_any_other(more, expected):
    assert windows(more)[0] == expected


def test_a_library_s_module_that_a_method_makes_is_where_its_callers_are():
    code = """
import torchaudio

class Voice(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def resampled(self, waves: list[torch.Tensor], rate):
        return [torchaudio.transforms.Resample(rate, 16000)(wave) for wave in waves]
"""
    (found,) = settled(code).meetings
    assert [each.kind.value for each in found.assumptions] == ["caller-is-accelerated"]
