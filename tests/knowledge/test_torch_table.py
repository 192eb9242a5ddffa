"""torch's table says what the installed torch does.

The answers of the table are held against runs of every OpInfo sample under FakeTensorMode with the
checks of the CUDA kernels (scripts/device_probe.py says how and why).
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import pytest

from devlint.knowledge import Agreement, Call, Knowledge, Result, load

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

torch = pytest.importorskip("torch")
DISAGREEMENTS = pathlib.Path(__file__).parent / "disagreements.toml"


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    return load()


def lookup(knowledge: Knowledge, name: str) -> tuple[Call, list[str]]:
    """The table's entry of an operator, and the names of its positional arguments."""
    method = name.removeprefix("torch.Tensor.")
    if method != name:
        return knowledge.methods[method], ["self", *knowledge.methods[method].params]
    return knowledge.functions[name], list(knowledge.functions[name].params)


def predicted(call: Call, names: list[str], run: Any) -> str | None:
    """What the table says of a run: "refused", "host", or where the result is. None: no answer."""
    devices: list[str] = []
    must_agree: set[str] = set()
    for number, operand in enumerate(run.operands):
        device = "cpu" if number == run.on_cpu else "cuda"
        devices.append(device)
        parameter = operand.argument
        if not isinstance(parameter, str):
            parameter = names[min(parameter, len(names) - 1)]
        if parameter in call.host and device != "cpu":
            return "refused"
        if parameter in call.indices and device != "cpu" and devices[0] == "cpu":
            return "refused"
        exempt = (
            device == "cpu"
            and operand.dimensions == 0
            and not (call.in_place and number == 0)
            and (call.agreement is Agreement.POINTWISE or parameter in call.zero_dim)
        )
        if (parameter in call.tensors or parameter == "self") and not exempt:
            must_agree.add(device)
    if call.agreement is not Agreement.FREE and len(must_agree) > 1:
        return "refused"
    if call.result in (Result.HOST, Result.NONE):
        return "host"
    if call.result is Result.UNKNOWN or "device" in run.keywords:
        return None
    if call.result in (Result.CPU, Result.DEVICE) or not devices:
        return "cpu"
    if call.result is Result.OPERANDS and must_agree:
        return must_agree.pop()
    return devices[0]


def observed_outcome(run: Any) -> str:
    return "refused" if run.refused else str(run.outcome)


def test_the_table_agrees_with_runs_of_the_operators(
    knowledge: Knowledge, observed: list[Any]
) -> None:
    judged = 0
    disagreements: dict[str, int] = {}
    for run in observed:
        call, names = lookup(knowledge, run.name)
        answer = predicted(call, names, run)
        if answer is None:
            continue
        judged += 1
        if answer != observed_outcome(run):
            disagreements[run.name] = disagreements.get(run.name, 0) + 1
    assert judged > 6000
    assert sum(disagreements.values()) <= 0.02 * judged, disagreements
    listed = {
        name
        for entry in tomllib.loads(DISAGREEMENTS.read_text())["disagreement"]
        for name in entry["names"]
        if entry["why"]
    }
    assert disagreements.keys() == listed


def test_every_operator_of_the_database_is_in_the_table(
    knowledge: Knowledge, observed: list[Any]
) -> None:
    names = {run.name for run in observed}
    assert len(names) > 850
    missing = [
        name
        for name in names
        if name.removeprefix("torch.Tensor.") not in knowledge.methods
        and name not in knowledge.functions
    ]
    assert missing == []


def test_results_that_are_said_to_be_0_dim_are(knowledge: Knowledge, observed: list[Any]) -> None:
    wrong = set()
    for run in observed:
        if run.outcome in ("refused", "host"):
            continue
        call, names = lookup(knowledge, run.name)
        given = {names[i] for i in range(min(run.positional, len(names)))} | set(run.keywords)
        said = call.scalar == "always" or (
            call.scalar == "without-dim" and not given & {"dim", "axis", "keepdim"}
        )
        if said and run.dimensions != 0:
            wrong.add(run.name)
    assert wrong == set()


@pytest.mark.skipif(
    not torch.__version__.startswith("2.13."), reason="the committed table is that of torch 2.13"
)
def test_the_committed_table_is_what_the_generator_writes(observed: list[Any]) -> None:
    import generate_knowledge

    assert generate_knowledge.TABLE.read_text() == generate_knowledge.generate(observed)


def test_entries_are_consistent(knowledge: Knowledge) -> None:
    for name in knowledge.functions:
        call = knowledge.functions[name]
        named = call.tensors | call.host | call.indices | call.sync_unless | call.sync_only_if
        assert named <= set(call.params), name
        assert call.zero_dim <= call.tensors, name
        if call.in_place:
            assert name.endswith("_"), name
            assert call.result is Result.FIRST, name
    for name in knowledge.methods:
        call = knowledge.methods[name]
        named = call.tensors | call.host | call.indices | call.sync_unless | call.sync_only_if
        assert named <= set(call.params), name
        assert call.zero_dim <= call.tensors | {"self"}, name
        assert not call.in_place or name.endswith("_"), name


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("torch.zeros", Result.DEVICE),
        ("torch.arange", Result.DEVICE),
        ("torch.zeros_like", Result.LIKE),
        ("torch.tensor", Result.LIKE),
        ("torch.from_numpy", Result.CPU),
        ("torch.cuda.FloatTensor", Result.CUDA),
        ("torch.add", Result.OPERANDS),
        ("torch.linalg.norm", Result.OPERANDS),
        ("torch.fft.fft", Result.OPERANDS),
        ("torch.special.expit", Result.OPERANDS),
        ("torch.nn.init.xavier_uniform_", Result.FIRST),
        ("torch.load", Result.UNKNOWN),
        ("torch.cuda.is_available", Result.HOST),
        ("torch.signal.windows.hann", Result.DEVICE),
    ],
)
def test_where_results_of_functions_live(knowledge: Knowledge, name: str, result: Result) -> None:
    assert knowledge.functions[name].result is result


@pytest.mark.parametrize(
    ("name", "agreement"),
    [
        ("torch.add", Agreement.POINTWISE),
        ("torch.where", Agreement.POINTWISE),
        ("torch.lerp", Agreement.POINTWISE),
        ("torch.maximum", Agreement.POINTWISE),
        ("torch.multiply", Agreement.POINTWISE),
        ("torch.clamp", Agreement.STRICT),  # its CUDA wrapper checks devices, unlike clip's parts
        ("torch.cat", Agreement.STRICT),
        ("torch.stack", Agreement.STRICT),
        ("torch.gather", Agreement.STRICT),
        ("torch.index_select", Agreement.STRICT),
        ("torch.matmul", Agreement.STRICT),
        ("torch.searchsorted", Agreement.STRICT),
        ("torch.nn.functional.embedding", Agreement.STRICT),
        ("torch.nn.functional.cross_entropy", Agreement.STRICT),
        ("torch.nn.functional.conv2d", Agreement.STRICT),
        ("torch.nn.functional.relu", Agreement.FREE),
        ("torch.slice_scatter", Agreement.FREE),
    ],
)
def test_which_mixes_functions_accept(
    knowledge: Knowledge, name: str, agreement: Agreement
) -> None:
    assert knowledge.functions[name].agreement is agreement


def test_in_place_methods_keep_their_tensor(knowledge: Knowledge) -> None:
    add_ = knowledge.methods["add_"]
    assert (add_.in_place, add_.result, add_.agreement) == (
        True,
        Result.FIRST,
        Agreement.POINTWISE,
    )
    assert knowledge.methods["copy_"].agreement is Agreement.FREE


def test_syncs_and_their_conditions(knowledge: Knowledge) -> None:
    for method in ("item", "tolist", "nonzero", "masked_select", "unique", "equal", "__bool__"):
        assert knowledge.methods[method].sync, method
    for method in ("sum", "size", "is_floating_point", "view", "__len__"):
        assert not knowledge.methods[method].sync, method
    repeat = knowledge.functions["torch.repeat_interleave"]
    assert (repeat.sync_unless, repeat.sync_only_if) == ({"output_size"}, {"repeats"})


def test_numbers_of_results(knowledge: Knowledge) -> None:
    counts = {"topk": 2, "sort": 2, "max": 2, "split": -1, "chunk": -1, "unbind": -1, "sum": 0}
    assert {name: knowledge.methods[name].results for name in counts} == counts


def test_host_tensors_where_the_host_wants_them(knowledge: Knowledge) -> None:
    pack = knowledge.functions["torch.nn.utils.rnn.pack_padded_sequence"]
    assert pack.host == {"lengths"}
    pad = knowledge.functions["torch.nn.utils.rnn.pad_packed_sequence"]
    assert (pad.results, pad.host_results) == (2, (1,))


def test_modules(knowledge: Knowledge) -> None:
    linear = knowledge.modules["torch.nn.Linear"]
    assert linear.stateful == "always" and "device" in linear.params
    assert knowledge.modules["torch.nn.modules.linear.Linear"] is linear
    assert knowledge.modules["torch.nn.ReLU"].stateful == "never"
    assert knowledge.modules["torch.nn.CrossEntropyLoss"].stateful == "weight"
    assert knowledge.modules["torch.nn.LSTM"].results == 2


def test_distributions_live_where_their_parameters_do(knowledge: Knowledge) -> None:
    normal = knowledge.classes["torch.distributions.Normal"]
    assert (normal.result, normal.tensors) == (Result.OPERANDS, {"loc", "scale"})
    sample = knowledge.method_of("torch.distributions.Normal", "rsample")
    assert sample is not None
    assert sample.result is Result.FIRST


def test_the_version_is_in_the_table(knowledge: Knowledge) -> None:
    assert knowledge.torch_version == "2.13.0"


def test_attributes_of_tensors(knowledge: Knowledge) -> None:
    assert knowledge.attributes["T"] is Result.FIRST
    assert knowledge.attributes["shape"] is Result.HOST
