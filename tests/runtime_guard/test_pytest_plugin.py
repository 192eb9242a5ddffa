"""The pytest plugin: options, markers, fixture, summary."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from runtime_guard import DeviceGuard, pytest_plugin, virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


@pytest.fixture
def run(pytester):
    """Run the given test file with the plugin, in this process."""

    def run(source: str, *options: str):
        pytester.makepyfile(source)
        installed = any(
            p.name == "devlint_guard"
            for p in __import__("importlib.metadata").metadata.entry_points(group="pytest11")
        )
        plugin = () if installed else ("-p", "runtime_guard.pytest_plugin")
        return pytester.runpytest_inprocess(
            *plugin, "-p", "no:cacheprovider", "--strict-markers", *options
        )

    return run


ADDS_MIXED = """
import torch

def test_add():
    x = torch.ones(2).cuda()
    x.sum().item()
    x + torch.ones(2)
"""


def test_a_marker_that_asks_for_what_cannot_be_fails_its_test(run):
    result = run(
        """
        import pytest

        @pytest.mark.virtual_devices("gpu:2")
        def test_misspelt(): pass

        @pytest.mark.virtual_devices(2)
        def test_number(): pass

        def test_other(): pass
        """
    )
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(["virtual devices 'gpu:2': expected a list such as '2xcuda'*"])


def test_an_error_that_ends_a_test_is_told(run):
    result = run(
        """
        import pytest, torch

        def test_flag():
            torch.ones(2).cuda(True)

        def test_expected():
            with pytest.raises(TypeError):
                torch.zeros(2, device=False)
        """,
        "--device-guard",
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*not-a-device*argument 'device'*must be torch.device, not bool*"])
    assert result.stdout.str().count("not-a-device") == 1


def test_without_options_nothing_is_watched(run):
    result = run("import torch\ndef test(): assert not torch.cuda.is_available()")
    result.assert_outcomes(passed=1)
    assert "device guard" not in result.stdout.str()


def test_virtual_devices_from_collection_on(run):
    result = run(
        """
        import pytest, torch

        @pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
        def test_two():
            assert torch.cuda.device_count() == 2
            assert torch.zeros(1, device="cuda:1").is_cuda
        """,
        "--virtual-devices=cuda:2",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*virtual devices cuda:2*"])
    assert not torch.cuda.is_available()


def test_a_mixed_operation_fails_the_test_with_its_explanation(run):
    result = run(ADDS_MIXED, "--virtual-devices=cuda:1", "--device-guard")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *RuntimeError: Expected all tensors to be on the same device, but found*",
            "E *`x`: moved to cuda:0 at *",
            "*device guard*",
            "1 transfers (8 B), 1 syncs in 1 test",
            "transfers, most bytes first:",
            "  *:4  1x .cuda  8 B",
            "syncs, most first:",
            "  *:5  1x item",
            "device bugs:",
            "  *:6  mixed-device: Expected all tensors*",
        ]
    )


def test_an_impossible_machine_is_a_usage_error(run):
    result = run("def test(): pass", "--virtual-devices=tpu:1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*virtual devices 'tpu:1'*"])


def test_the_marker_gives_one_test_its_machine(run):
    result = run(
        """
        import pytest, torch

        @pytest.fixture
        def x():
            return torch.ones(2, device="cuda:1")

        @pytest.mark.virtual_devices("cuda:2")
        def test_with(x):
            assert (x * 2).is_cuda

        def test_without():
            assert not torch.cuda.is_available()
        """
    )
    result.assert_outcomes(passed=2)


BUDGET = """
import pytest, torch

@pytest.mark.virtual_devices("cuda")
@pytest.mark.device_budget({limits})
def test_it():
    for _ in range(3):
        x = torch.ones(1024).cuda(non_blocking=True)
    x.sum().item()
"""


@pytest.mark.parametrize(
    "limits",
    ["transfers=3, syncs=1", "h2d='12 KiB'", "h2d=12288, d2h='0 B'", "d2d=0", ""],
)
def test_a_budget_that_is_kept(run, limits):
    run(BUDGET.format(limits=limits)).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("transfers=2", ["3 transfers, 2 allowed", "  *:7  3x .cuda  12.0 KiB"]),
        ("syncs=0", ["1 syncs, 0 allowed", "  *:8  1x item"]),
        ("h2d='11 KiB'", ["12.0 KiB H2D, 11.0 KiB allowed"]),
        ("transfer=1", ["device_budget: unknown transfer; it takes transfers, syncs, h2d*"]),
        ("h2d='much'", ["size 'much': expected bytes, or a text such as '4 MiB'"]),
        ("3", ["device_budget: its limits have names*"]),
    ],
)
def test_a_budget_that_fails_the_test(run, limits, said):
    result = run(BUDGET.format(limits=limits))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(said)


def test_the_budget_is_the_calls_not_the_fixtures(run):
    run(
        """
        import pytest, torch

        @pytest.fixture
        def x():
            return torch.ones(2).cuda()

        @pytest.mark.virtual_devices("cuda")
        @pytest.mark.device_budget(transfers=0)
        def test_it(x):
            x + 1
        """
    ).assert_outcomes(passed=1)


def test_the_fixture_is_a_guard(run):
    run(
        """
        import pytest, torch
        from runtime_guard import DevicePolicyError

        @pytest.mark.virtual_devices("cuda")
        def test_it(device_guard):
            x = torch.ones(2).cuda()
            assert device_guard.count("transfer") == 1
            with device_guard.forbid_syncs(), pytest.raises(DevicePolicyError):
                x.sum().item()
        """
    ).assert_outcomes(passed=1)


DECLARED = """
from typing import Annotated

import torch
from devlint.contracts import On, SameDevice

def mask_out(
    x: Annotated[torch.Tensor, On("cuda")], mask: Annotated[torch.Tensor, SameDevice("x")]
):
    return x

def on_the_host(x):  # devlint: device[x=cpu]
    return x
"""
CALLS_DECLARED = """
import sys
import pytest, torch
from declared import mask_out, on_the_host

def test_broken():
    mask_out(torch.ones(2).cuda(), torch.ones(2))

def test_kept():
    x = torch.ones(2).cuda()
    mask_out(x, x)

def test_broken_comment():
    on_the_host(torch.ones(2).cuda())

@pytest.fixture
def broken():
    return mask_out(torch.ones(2), torch.ones(2))

def test_in_a_fixture(broken):
    pass
"""


@pytest.mark.parametrize(
    ("options", "ini"),
    [(["--device-contracts"], ""), ([], "device_contracts = true")],
    ids=["option", "ini"],
)
def test_a_broken_contract_fails_its_test(run, pytester, options, ini):
    pytester.makepyfile(declared=DECLARED)
    pytester.makeini(f"[pytest]\n{ini}")
    before = sys.getprofile()
    result = run(CALLS_DECLARED, "--virtual-devices=cuda:1", *options)
    result.assert_outcomes(failed=2, passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "device guard: virtual devices cuda:1, contracts are checked",
            "E *BrokenContract: Expected parameter `x` of `mask_out` to be on cuda, but found it*",
            "E *BrokenContract: Expected parameter `mask` of `mask_out` to be on the same device*",
            'E *declared SameDevice("x") at declared.py:*',
            "E *BrokenContract: Expected parameter `x` of `on_the_host` to be on cpu, but found*",
        ]
    )
    assert sys.getprofile() is before


def test_contracts_are_not_checked_unless_asked_for(run, pytester):
    pytester.makepyfile(declared=DECLARED)
    result = run(
        CALLS_DECLARED + "\n\ndef test_no_hook():\n    assert sys.getprofile() is None\n",
        "--virtual-devices=cuda:1",
    )
    result.assert_outcomes(passed=5)
    result.stdout.no_fnmatch_line("*contracts are checked*")


def test_the_command_line_overrules_the_configured_contracts(run, pytester):
    pytester.makepyfile(declared=DECLARED)
    pytester.makeini("[pytest]\ndevice_contracts = true")
    result = run(CALLS_DECLARED, "--virtual-devices=cuda:1", "-o", "device_contracts=false")
    result.assert_outcomes(passed=4)


def test_a_broken_contract_is_in_the_guards_summary_too(run, pytester):
    pytester.makepyfile(declared=DECLARED)
    result = run(CALLS_DECLARED, "--virtual-devices=cuda:1", "--device-contracts", "--device-guard")
    result.assert_outcomes(failed=2, passed=1, errors=1)
    result.stdout.fnmatch_lines(["device bugs:", "*contract: Expected parameter*"])


def test_a_guard_in_a_test_decides_about_its_contracts(run, pytester):
    pytester.makepyfile(declared=DECLARED)
    run(
        """
        import torch
        from declared import mask_out
        from runtime_guard import DeviceGuard

        def test_recorded():
            with DeviceGuard(on_contract="record") as guard:
                mask_out(torch.ones(2).cuda(), torch.ones(2))
            assert len(guard.problems) == 1
        """,
        "--virtual-devices=cuda:1",
        "--device-contracts",
    ).assert_outcomes(passed=1)


def test_workers_hand_their_ledgers_over():
    """With pytest-xdist the tests run in other processes than the summary."""

    def config():
        return SimpleNamespace(stash=pytest.Stash(), workeroutput={})

    workers, main = [config(), config()], config()
    with virtual_devices("cuda:1"), DeviceGuard() as guard:
        torch.ones(2).cuda()
    for worker in workers:
        pytest_plugin._add(worker, guard.ledger)
        worker.stash[pytest_plugin._WATCHED] += 3
        pytest_plugin.pytest_sessionfinish(SimpleNamespace(config=worker))
        output = json.loads(json.dumps(worker.workeroutput))  # it goes through a pipe
        pytest_plugin.pytest_testnodedown(SimpleNamespace(config=main, workeroutput=output))
    ledger = main.stash[pytest_plugin._LEDGER]
    assert (ledger.bytes("H2D"), main.stash[pytest_plugin._WATCHED]) == (16, 6)
