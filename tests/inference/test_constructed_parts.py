"""The class of what a constructor is handed, as all constructions in sight say."""

import pytest
from given import given, met, plain_attributes

CODE = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(9, 8)

    def split(self, text):
        return torch.tensor([len(word) for word in text])

class Other(Reader):
    def split(self, text):
        return text

class Model(nn.Module):
    def __init__(self, {takes}):
        super().__init__()
        self.reader = reader
        self.fc = nn.Linear(8, 3)

    def answer(self, text):
        return self.fc(self.reader.split(text))

{calls}
"""


def found(calls, takes="reader"):
    return len(met(CODE.format(calls=calls, takes=takes)))


@pytest.mark.parametrize(
    "calls",
    [
        "def main():\n    return Model(Reader())",
        "def main():\n    return Model(reader=Reader())",
        "def main():\n    reader = Reader().cuda()\n    return Model(reader)",
        "reader = Reader()\ndef main():\n    return Model(reader)",
        "def main():\n    a, b = Model(Reader()), Model(Reader().eval())",
    ],
)
def test_all_constructions_say_what_it_is(calls):
    assert found(calls) == 1


@pytest.mark.parametrize(
    "calls",
    [
        "",
        "def main(reader):\n    return Model(reader)",
        "def main(*given):\n    return Model(*given)",
        "def main():\n    return Model(Reader()), Model(Other())",
        "def main():\n    return Model(Other())",
        "def main(reader):\n    return Model(Reader()), Model(reader)",
        "def main():\n    reader = Reader()\n    reader = open('x')\n    return Model(reader)",
        "def main():\n    for reader in [Reader()]:\n        return Model(reader)",
        "def Reader():\n    return open('x')\ndef main():\n    return Model(Reader())",
        # of a subclass, what others hand in
        "class Sub(Model):\n    pass\ndef main():\n    return Model(Reader()), Sub(Other())",
    ],
)
def test_where_one_of_them_does_not_say_it_may_be_anything(calls):
    assert found(calls) == 0


@pytest.mark.parametrize(
    ("takes", "count"),
    [
        ("reader=None", 1),
        ("reader: Reader", 1),
        ("reader: Other", 0),  # the annotation counts
        ("size, reader", 0),  # the first is another
    ],
)
def test_the_parameter_is_one_without_a_type(takes, count):
    assert found("def main():\n    return Model(Reader())", takes) == count


@pytest.mark.parametrize(
    "made",
    [
        "nn.Parameter(values)",
        "nn.Parameter(torch.as_tensor(values), requires_grad=False)",
        "nn.Parameter(values * 2)",
        "nn.Parameter(torch.zeros(3, device=values.device))",
    ],
)
def test_a_function_that_makes_a_parameter_of_what_it_is_given_gives_one(made):
    code = f"""
    def frozen(values: torch.Tensor):
        return {made}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = frozen(torch.zeros(3))

        def forward(self, x):
            return x * self.scale
    """
    assert plain_attributes(given(code)) == []
    assert met(code) == []
