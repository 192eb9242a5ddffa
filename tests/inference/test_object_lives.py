"""A module that a plain object holds: the constructor leaves it, others move it, and each public
method may find it in either place."""

import pytest
from given import met

VOICE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x, lengths=None):
        return self.fc(x)


class Voice:
    def __init__(self):
        self.net = Net()
        self.device = torch.device("cpu")

    def wave(self, mel):
        return self.net({given})

    def {method}

"""
MOVES = "to(self, device):\n        self.net.to(device)\n        self.device = device"
NOTHING = "name(self):\n        return 'voice'"
ON_HOST = "torch.tensor(mel)"


def voice(method: str = MOVES, given: str = ON_HOST, use: str = "") -> str:
    return VOICE.format(method=method, given=given) + use


OUTSIDE = [
    "voice = Voice()\nvoice.net.to('cuda')",
    "class Player:\n    def __init__(self, device):\n        self.voice = Voice()\n"
    "        self.voice.net.to(device)",
    "def load(device):\n    voice = Voice()\n    voice.net.to(device)\n    return voice",
]


@pytest.mark.parametrize(
    "method",
    [
        MOVES,
        "cuda(self):\n        self.net.cuda()",
        "prepare(self, device):\n        self.net.to(device=device).eval()",
    ],
)
def test_what_a_method_makes_on_the_host_meets_a_module_that_another_moves(method):
    (found,) = met(voice(method))
    assert "likely" in found and "torch.tensor(mel)@cpu" in found


@pytest.mark.parametrize("use", OUTSIDE)
def test_the_maker_of_an_object_moves_its_module_from_outside(use):
    (found,) = met(voice(NOTHING, use=use))
    assert "torch.tensor(mel)@cpu" in found


def test_a_module_of_a_library_is_moved_alike():
    code = voice().replace("self.net = Net()", "self.net = nn.Linear(3, 3)")
    assert len(met(code)) == 1


@pytest.mark.parametrize(
    "given",
    [
        "mel",
        "torch.tensor(mel, device=self.device)",
        "torch.tensor(mel).to(next(self.net.parameters()).device)",
        "mel.to(self.device), torch.tensor([3])",  # it only slices by the lengths
    ],
)
def test_what_fits_the_device_of_a_moved_module_is_right(given):
    assert met(voice(given=given)) == []


@pytest.mark.parametrize(
    "method",
    [
        NOTHING,
        "half(self):\n        self.net.to(torch.half)",
        "export(self):\n        self.net.to('cpu')",
        "to(self, device):\n        self.net.to(device)\n\n    def rest(self):\n"
        "        self.net.cpu()",  # it is brought home after each use
        "setUp(self):\n        pass\n\n    def test_it(self):\n        self.net.cuda()",
    ],
)
def test_a_module_that_stays_on_the_host_meets_what_is_made_there(method):
    assert met(voice(method)) == []


def test_what_moves_the_module_itself_finds_it_there():
    use = "    def fresh(self, mel):\n        self.to('cuda')\n        return self.net({})\n"
    assert len(met(voice() + use.format("mel.cuda()"))) == 1  # that of `wave`


@pytest.mark.parametrize(
    "use",
    [
        "other = Other()\nother.net.cuda()",
        "voice = Voice()\nvoice.net.to(torch.half)",
        "voice = Voice()\nvoice.net.to('cpu')",
        "def load(voice):\n    voice.net.cuda()",  # whatever that is
    ],
)
def test_what_another_object_holds_under_the_name_is_another(use):
    assert met(voice(NOTHING, use=use)) == []


def test_what_is_moved_from_outside_is_fed_where_it_was_moved_to():
    assert met(voice(NOTHING, "mel.cuda()", OUTSIDE[0])) == []


APP = """
class App:
    def __init__(self):
        self.model = nn.Linear(3, 3)
        {rest}

    def one(self, image):
        {moves}
        return self.model(image.cuda())

    def many(self, image):
        return self.model(image.cuda())
"""
ANEW = 'self.model = self.model.to("cuda")'
IN_PLACE = "self.model.cuda()"


def app(moves: str = ANEW, rest: str = "pass", use: str = "") -> str:
    return APP.format(moves=moves, rest=rest) + use


@pytest.mark.parametrize("moves", [ANEW, IN_PLACE, f"if torch.cuda.is_available(): {ANEW}"])
def test_a_public_method_is_called_straight_after_the_constructor(moves):
    (found,) = met(app(moves))
    assert found.startswith("input: self.model@cpu self.model image.cuda()@cuda likely")


def test_what_a_public_method_calls_is_called_then_too():
    code = app(use="    def _run(self, x):\n        return self.model(x.cuda())\n")
    assert (
        len(
            met(
                code.replace(
                    "return self.model(image.cuda())\n    def _",
                    "return self._run(image)\n    def _",
                )
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    "code",
    [
        # a method that is meant to come first: by its name, or since the module learns there
        app().replace("def one", "def to_cuda"),
        app(f"{ANEW}; self.loss(image).backward()"),
        app(IN_PLACE).replace("return self.model(image.cuda())", "return self", 1),
        # it is called first, by code in sight or by the constructor
        app(use="a = App()\na.one(torch.zeros(3))\na.many(torch.zeros(3))"),
        app(rest="self.one(torch.zeros(3))"),
        app(f"{ANEW}; return self.many(image)"),
        # the module is moved from outside, or by a class that inherits
        app(use="a = App()\na.model.cuda()"),
        app(use="class More(App):\n    def __init__(self):\n        super().__init__()\n"
            "        self.model = self.model.cuda()"),
        # the method moves it itself, or is called by nobody but what does
        app().replace("def many(self, image):", "def many(self, image):\n        " + IN_PLACE),
        app(f"{ANEW}; return self._many(image)").replace("def many", "def _many"),
    ],
)  # fmt: skip
def test_what_is_meant_to_come_first_moves_the_module(code):
    assert met(code) == []
