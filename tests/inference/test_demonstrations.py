"""A file that defines modules, and only shows them where it is run, is there for who imports it."""

import pytest
from given import given

from devlint.inference.domain.assumptions import AssumptionKind

SPECTRUM = """
class {name}:
    def {method}(self, signal):
        return torch.stft(signal, 512, window=torch.hann_window(512))
"""
MODULE = SPECTRUM.format(name="Spectrum(nn.Module)", method="forward")
LOSS = MODULE + SPECTRUM.format(name="SpectralLoss", method="compute")
SHOWN = """
if __name__ == "__main__":
    print(Spectrum())
"""
RUN = """
if __name__ == "__main__":
    main(sys.argv)
"""
OF_SCRIPTS = {
    AssumptionKind.SCRIPT_RUNS_ON_ACCELERATOR,
    AssumptionKind.HOST_CODE_GETS_DEVICE_TENSORS,
}


@pytest.mark.parametrize(
    ("code", "is_of_script"),
    [
        (MODULE + SHOWN, False),
        (MODULE + RUN, True),
        (MODULE + SHOWN + "\nprint(Spectrum())\n", True),
        (MODULE + "\nimport argparse\n" + SHOWN, True),
        (SPECTRUM.format(name="Spectrum", method="compute") + SHOWN, True),
    ],
    ids=["shown", "run", "shown at once", "with options", "no module"],
)
def test_what_shows_its_modules_is_no_script(code, is_of_script):
    (meeting,) = given(code).meetings
    assert bool(OF_SCRIPTS & {each.kind for each in meeting.assumptions}) is is_of_script


def test_what_stands_beside_modules_minds_devices_as_they_do():
    module, loss = given(LOSS + SHOWN).meetings
    assert module.given is not None and not module.given.parameter  # none of its callers' tensors
    assert loss.given is not None
    assert loss.given.minds
