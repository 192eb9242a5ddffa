"""Confirmation: what static analysis claims against what a run showed."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from runtime_guard.commands.confirm import confirm, render_text, run_confirm
from runtime_guard.commands.expectations import EXPECTATIONS
from runtime_guard.commands.line_tracer import TracedLines
from runtime_guard.commands.verdicts import judge, missed
from runtime_guard.core.sites import Site
from runtime_guard.recording.events import Event, Kind
from runtime_guard.recording.evidence import (
    Evidence,
    Process,
    evidence_from_json,
    evidence_to_json,
    merge_evidence,
)

FILE = "/project/train.py"


def finding(rule: str, line: int, *related: int, end_line: int | None = None) -> dict:
    def place(at: int) -> dict:
        return {"path": "train.py", "line": at, "column": 1, "end_line": at, "end_column": 9}

    return {
        **place(line),
        "end_line": end_line or line,
        "rule": rule,
        "name": rule.lower(),
        "severity": "error",
        "message": "something",
        "related": [{**place(at), "message": "here"} for at in related],
    }


def event(kind: Kind, *lines: int, count: int = 1, origins: tuple[int, ...] = ()) -> Event:
    def site(line: int) -> Site:
        return Site(FILE, line, line, "f")

    return Event(
        kind,
        tuple(map(site, lines)),
        "op",
        count=count,
        origins=tuple(map(site, origins)),
    )


def verdict(one: dict, *events: Event, ran: tuple[int, ...] = (), devices: str = "cuda:1") -> str:
    evidence = Evidence(tuple(events), devices)
    (judged,) = judge([one], evidence, {FILE: set(ran)}, "/project")
    return judged["verdict"]


class TestJudge:
    @pytest.mark.parametrize("rule", ["DEV101", "DEV102", "DEV103", "DEV104", "DEV105", "DEV106"])
    def test_mixed_devices_are_confirmed_by_an_error_on_the_way_through_the_line(self, rule):
        assert verdict(finding(rule, 5), event(Kind.MIXED, 5)) == "confirmed"
        assert verdict(finding(rule, 5), event(Kind.MIXED, 90, 5, 1)) == "confirmed"
        assert verdict(finding(rule, 5), event(Kind.MIXED, 90, origins=(5,))) == "confirmed"
        assert verdict(finding(rule, 5), event(Kind.MIXED, 6), ran=(5,)) == "refuted"
        assert verdict(finding(rule, 5), event(Kind.MIXED, 6)) == "not executed"

    @pytest.mark.parametrize("rule", ["DEV101", "DEV102", "DEV107", "DEV207", "DEV205"])
    def test_a_finding_that_was_never_reached_shares_nothing_with_one_that_was(self, rule):
        (kind, *_) = sorted(EXPECTATIONS[rule].kinds, key=lambda kind: kind is not Kind.MIXED)
        died = event(kind, 4, origins=(2,))
        assert verdict(finding(rule, 6, 2, 4), died, ran=(2, 3, 4)) == "not executed"

    def test_an_operation_that_went_well_is_not_confirmed_by_where_its_operands_come_from(self):
        died = event(Kind.MIXED, 6, origins=(2,))
        assert verdict(finding("DEV102", 4, 2), died, ran=(2, 4, 6)) == "refuted"

    @pytest.mark.parametrize("rule", ["DEV107", "DEV207"])
    def test_a_cause_is_confirmed_by_the_meeting_that_comes_of_it(self, rule):
        assert verdict(finding(rule, 5, 8), event(Kind.MIXED, 8), ran=(5, 8)) == "confirmed"

    def test_a_finding_of_several_lines(self):
        several = finding("DEV101", 5, end_line=7)
        assert verdict(several, event(Kind.MIXED, 7)) == "confirmed"
        assert verdict(several, event(Kind.MIXED, 8), ran=(6,)) == "refuted"

    @pytest.mark.parametrize(
        ("rule", "kind"),
        [
            ("DEV201", Kind.DISCARDED_MOVE),
            ("DEV202", Kind.OPTIMIZED_MOVE),
            ("DEV203", Kind.NON_LEAF_MOVE),
            ("DEV204", Kind.UNUSED_MOVE),
            ("DEV205", Kind.LEFT_BEHIND),
            ("DEV206", Kind.LEFT_BEHIND),
            ("DEV203", Kind.LEAF_MOVE),
            ("DEV205", Kind.PASSED_BY),
            ("DEV206", Kind.PASSED_BY),
            ("DEV308", Kind.TRANSFER),
            ("DEV401", Kind.HOST_READ),
            ("DEV402", Kind.UNLANDED_READ),
            ("DEV403", Kind.WORKER_ACCESS),
        ],
    )
    def test_each_rule_has_its_own_evidence(self, rule, kind):
        assert verdict(finding(rule, 5), event(kind, 5), ran=(5,)) == "confirmed"
        assert verdict(finding(rule, 5), event(Kind.MIXED, 5), ran=(5,)) == "refuted"

    @pytest.mark.parametrize(
        ("rule", "kind"),
        [
            ("DEV301", Kind.TRANSFER),
            ("DEV303", Kind.SYNC),
            ("DEV305", Kind.ELEMENT_WRITE),
            ("DEV307", Kind.MODULE_MOVE),
        ],
    )
    def test_loops_need_a_repetition(self, rule, kind):
        assert verdict(finding(rule, 5), event(kind, 5, count=2), ran=(5,)) == "confirmed"
        assert verdict(finding(rule, 5), event(kind, 5), event(kind, 5, 1)) == "confirmed"
        assert verdict(finding(rule, 5), event(kind, 5), ran=(5,)) == "refuted"

    def test_without_an_accelerator_nothing_is_refuted(self):
        assert verdict(finding("DEV101", 5), ran=(5,), devices="") == "not executed"

    def test_rules_that_a_run_cannot_show(self):
        assert verdict(finding("DEV109", 5), ran=(5,)) == "undecided"
        assert "DEV109" not in EXPECTATIONS

    def test_what_is_no_device_shows_where_pytorch_refuses_it(self):
        given = {**finding("DEV110", 5), "message": "`x.cuda` is given `flag` as its device, …"}
        assert verdict(given, event(Kind.NOT_A_DEVICE, 5)) == "confirmed"
        assert verdict(given, event(Kind.NOT_A_DEVICE, 90, 5)) == "confirmed"
        assert verdict(given, event(Kind.NOT_A_DEVICE, 6), ran=(5,)) == "refuted"

    @pytest.mark.parametrize(
        ("message", "because"),
        [
            ('`x.device == "cuda"` is never true: …', "raises nothing"),
            ('`x.device != "cpu"` is always true: …', "raises nothing"),
            ('no device is called "gpu": …', "raises nothing"),
            (
                "`d.index` is 0 for …, which `or` takes for none: `-1`",
                "raises nothing",
            ),
            ("`d` is ignored where no accelerator is: …", "raises nothing"),
            ("`x.get_device()` is -1 on the host, which …", "on the host"),
        ],
    )
    def test_a_mistake_at_which_nothing_is_raised_stays_undecided(self, message, because):
        evidence = Evidence((), "cuda:1")
        one = {**finding("DEV110", 5), "message": message}
        (judged,) = judge([one], evidence, {FILE: {5}}, "/project")
        assert judged["verdict"] == "undecided"
        assert because in judged["reason"]

    def test_a_fixed_card_shows_in_the_processes_of_other_cards(self):
        fixed = finding("DEV505", 5)
        globally = {**fixed, "message": "`x` takes the rank among all nodes for the number of …"}
        used = event(Kind.FOREIGN_CARD, 9, origins=(5,))

        def of(one: dict, *events: Event, processes: tuple[Process, ...] = ()) -> str:
            evidence = Evidence(tuple(events), "virtual cuda:2", processes)
            return judge([one], evidence, {FILE: {5}}, "/project")[0]["verdict"]

        assert of(fixed, used, processes=(Process(1, 1),)) == "confirmed"
        assert of(fixed, processes=(Process(1, 1),)) == "refuted"
        assert of(fixed, processes=(Process(0, 0),)) == "undecided"
        assert of(fixed) == "undecided"
        assert of(globally, event(Kind.UNAVAILABLE, 5), processes=(Process(2, 0),)) == "confirmed"
        assert of(globally, processes=(Process(2, 0),)) == "refuted"
        assert of(globally, processes=(Process(1, 1),)) == "undecided"

    @pytest.mark.parametrize("rule", ["DEV501", "DEV502", "DEV504"])
    def test_what_is_missing_shows_on_machines_without_it(self, rule):
        assert verdict(finding(rule, 5), ran=(5,), devices="virtual cuda:2") == "undecided"
        assert verdict(finding(rule, 5), ran=(5,), devices="virtual mps") == "refuted"
        assert verdict(finding(rule, 5), ran=(5,), devices="") == "refuted"
        assert verdict(finding(rule, 5), devices="") == "not executed"
        assert verdict(finding(rule, 5), event(Kind.UNAVAILABLE, 5), devices="") == "confirmed"
        named = event(Kind.UNAVAILABLE, 9, origins=(5,))
        assert verdict(finding(rule, 5), named, devices="virtual mps") == "confirmed"

    def test_a_legacy_type_may_be_deprecated_and_harmless(self):
        assert verdict(finding("DEV503", 5), ran=(5,)) == "undecided"
        assert verdict(finding("DEV503", 5), event(Kind.TRANSFER, 5)) == "confirmed"

    def test_a_legacy_type_does_not_move_what_a_device_in_its_line_moves(self):
        moved = replace(event(Kind.TRANSFER, 5), what=".to")
        assert verdict(finding("DEV503", 5), moved, ran=(5,)) == "undecided"

    def test_a_round_trip_goes_there_and_back(self):
        there, back = event(Kind.TRANSFER, 3), event(Kind.TRANSFER, 5)
        assert verdict(finding("DEV302", 5, 3), there, back) == "confirmed"
        assert verdict(finding("DEV302", 5, 3), back, ran=(5,)) == "refuted"

    def test_a_contract_is_seen_at_calls_and_returns(self):
        at_call = {**finding("DEV108", 5), "message": "`m` is …, but parameter `x` of `f` is …"}
        kept = {**finding("DEV108", 5), "message": "`m` is …, but `self.table` is …"}
        assert verdict(at_call, event(Kind.CONTRACT, 5)) == "confirmed"
        assert verdict(at_call, ran=(5,)) == "refuted"
        assert verdict(kept, event(Kind.MIXED, 5)) == "confirmed"
        assert verdict(kept, ran=(5,)) == "undecided"

    @pytest.mark.parametrize(
        ("rule", "noted", "harm"),
        [
            ("DEV205", Kind.PASSED_BY, Kind.LEFT_BEHIND),
            ("DEV203", Kind.LEAF_MOVE, Kind.NON_LEAF_MOVE),
        ],
    )
    def test_where_harm_is_asked_for_what_may_be_well_meant_decides_nothing(
        self, rule, noted, harm
    ):
        def of(*events: Event) -> str:
            lines = {FILE: {5}}
            evidence = Evidence(events, "cuda:1")
            (judged,) = judge([finding(rule, 5)], evidence, lines, "/project", harm=True)
            return judged["verdict"]

        assert of(event(noted, 5)) == "undecided"
        assert of(event(noted, 5), event(harm, 5)) == "confirmed"
        assert of() == "refuted"

    def test_the_finding_itself_is_kept(self):
        one = finding("DEV101", 5)
        (judged,) = judge([one], Evidence((event(Kind.MIXED, 5),), "cuda:1"), {}, "/project")
        assert {key: judged[key] for key in one} == one
        assert judged["evidence"][0]["kind"] == "mixed-device"
        assert "verdict" not in one

    def test_of_two_at_one_line_a_mixture_confirms_the_one_that_speaks_of_its_operand(self):
        noise, mask = finding("DEV102", 12, 10), finding("DEV102", 12, 11)
        met = event(Kind.MIXED, 12, origins=(3, 10))
        evidence = Evidence((met,), "cuda:1")
        lines = TracedLines({FILE: {10, 11, 12}}, {FILE: {12}}, {FILE: {12}})
        judged = judge([mask, noise], evidence, lines, "/project")
        assert [one["verdict"] for one in judged] == ["undecided", "confirmed"]
        # where none of them tells where an operand is from, it is evidence of both
        unknown = Evidence((event(Kind.MIXED, 12, origins=(3,)),), "cuda:1")
        judged = judge([mask, noise], unknown, lines, "/project")
        assert [one["verdict"] for one in judged] == ["confirmed", "confirmed"]

    def test_a_line_that_an_exception_left_refutes_nothing(self):
        lines = TracedLines({FILE: {5}}, {FILE: {5}}, {FILE: {5}})
        (judged,) = judge([finding("DEV102", 5)], Evidence((), "cuda:1"), lines, "/project")
        assert judged["verdict"] == "undecided"
        assert judged["reason"] == "an exception left its line, and may have come first"

    def test_a_line_without_anything_on_an_accelerator_refutes_no_meeting(self):
        lines = TracedLines({FILE: {5}}, {}, {FILE: set()})
        evidence = Evidence((), "cuda:1")
        (meeting,) = judge([finding("DEV102", 5)], evidence, lines, "/project")
        assert (meeting["verdict"], meeting["reason"]) == (
            "not executed",
            "it ran, but with nothing on an accelerator",
        )
        (moves,) = judge([finding("DEV304", 5)], evidence, lines, "/project")
        assert moves["verdict"] == "refuted"

    def test_what_check_missed(self):
        seen = Evidence((event(Kind.MIXED, 5), event(Kind.HOST_READ, 9), event(Kind.SYNC, 3)), "c")
        assert missed([finding("DEV101", 5)], seen, {}, "/project") == [seen.events[1]]

    def test_a_bug_is_missed_though_its_operand_was_moved_where_another_finding_is(self):
        died = Evidence((event(Kind.MIXED, 5, 20, origins=(3, 20)),), "cuda:1")
        others = [finding("DEV501", 20), finding("DEV301", 20), finding("DEV101", 8, 5)]
        assert missed(others, died, {FILE: {3, 5, 20}}, "/project") == list(died.events)

    def test_what_comes_of_a_confirmed_cause_is_not_missed(self):
        left = event(Kind.LEFT_BEHIND, 3, 20)
        died = event(Kind.MIXED, 9, 21, origins=(3, 20))
        evidence = Evidence((left, died), "cuda:1")
        assert missed([finding("DEV205", 3)], evidence, {}, "/project") == []
        assert missed([finding("DEV205", 4)], evidence, {}, "/project") == [left, died]


def test_evidence_survives_json_and_merges():
    one = Evidence((event(Kind.MIXED, 5, 1, origins=(2,)),), "virtual cuda:2", (Process(3, 1),))
    assert evidence_from_json(json.loads(json.dumps(evidence_to_json(one)))) == one
    both = merge_evidence([one, Evidence((event(Kind.SYNC, 1),), "virtual cuda:2")])
    assert (len(both.events), both.devices) == (2, "virtual cuda:2")
    assert both.processes == (Process(3, 1),)
    with pytest.raises(ValueError, match="version"):
        evidence_from_json({"version": 9})


PROGRAM = """\
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.mask = torch.ones(2)  # DEV205
    def forward(self, x):
        return self.layer(x) * self.mask  # DEV102

def unused():
    return torch.ones(2).cuda() + torch.ones(2)  # DEV101 never

def main():
    net = Net().cuda()
    x = torch.rand(4, 2)
    x.cuda()  # DEV201
    x = x.cuda()
    fine = x + torch.tensor(1.0)  # DEV101 wrong
    table = torch.rand(2)
    for _ in range(3):
        fine = fine + table.cuda()  # DEV301
        fine.sum().item()  # DEV303
    w = torch.rand(2, requires_grad=True).cuda()  # DEV203
    (w * 2).sum()
    y = x.to("cpu", non_blocking=True)
    y.sum()  # DEV402
    try:
        x.numpy()  # DEV401
    except TypeError:
        pass
    print("until here")
    net(x)
    print("never")

main()
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("has a real CUDA device")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    findings = [
        finding(match.group(1), number)
        for number, text in enumerate(PROGRAM.splitlines(), 1)
        if (match := re.search(r"# (DEV\d+)", text))
    ]
    report = {"version": 1, "files": 1, "findings": findings, "errors": []}
    (tmp_path / "findings.json").write_text(json.dumps(report))
    return report


EXPECTED = {
    ("DEV205", "confirmed"),
    ("DEV102", "confirmed"),
    ("DEV101", "not executed"),
    ("DEV201", "confirmed"),
    ("DEV101", "refuted"),
    ("DEV301", "confirmed"),
    ("DEV303", "confirmed"),
    ("DEV203", "confirmed"),
    ("DEV402", "confirmed"),
    ("DEV401", "confirmed"),
}


class TestConfirm:
    def test_a_script_on_virtual_devices(self, program, capsys):
        result = confirm(program, ["python", "train.py"], virtual="cuda:2")
        assert {(f["rule"], f["verdict"]) for f in result.findings} == EXPECTED
        assert result.missed == []
        assert result.exit_code == 1
        assert (result.outcome.exit_code, type(result.outcome.error)) == (1, RuntimeError)
        assert capsys.readouterr().out == "until here\n"

    def test_keep_going_runs_behind_the_first_bug(self, program, capsys):
        result = confirm(program, ["train.py"], virtual="cuda:2", keep_going=True)
        assert {(f["rule"], f["verdict"]) for f in result.findings} == EXPECTED
        assert result.outcome.exit_code == 0
        assert "never" in capsys.readouterr().out

    def test_without_accelerator(self, program, capsys):
        result = confirm(program, ["train.py"])
        assert {f["verdict"] for f in result.findings} == {"not executed"}
        assert result.exit_code == 0

    def test_what_was_missed_is_said(self, program, capsys):
        program["findings"] = [f for f in program["findings"] if f["rule"] != "DEV401"]
        result = confirm(program, ["train.py"], virtual="cuda:2")
        assert [e.kind for e in result.missed] == [Kind.HOST_READ]
        assert "! missed       train.py:31 host-read: can't convert" in render_text(result)

    def test_what_comes_of_a_copy_that_was_thrown_away_is_not_missed(self, program, tmp_path):
        (tmp_path / "thrown.py").write_text(
            "import torch\n"
            "layer = torch.nn.Linear(2, 2).cuda()\n"
            "x = torch.ones(1, 2)\n"
            "x.cuda()\n"
            "layer(x)\n"
        )
        thrown = {**finding("DEV201", 4), "path": "thrown.py"}
        found = confirm({**program, "findings": [thrown]}, ["thrown.py"], virtual="cuda:1")
        assert found.findings[0]["verdict"] == "confirmed"
        assert found.missed == []
        other = {**finding("DEV201", 3), "path": "thrown.py"}
        found = confirm({**program, "findings": [other]}, ["thrown.py"], virtual="cuda:1")
        assert [event.kind for event in found.missed] == [Kind.DISCARDED_MOVE, Kind.MIXED]

    def test_text(self, program, capsys):
        assert run_confirm("findings.json", ["train.py"], virtual="cuda:2") == 1
        shown = capsys.readouterr().out
        assert "✗ confirmed    train.py:11 DEV102 something" in shown
        assert "`self.mask`: made on cpu at train.py:9" in shown
        assert "8 confirmed, 1 refuted, 1 not executed" in shown

    def test_json_is_one_object_on_standard_output(self, program, capsys):
        code = run_confirm("findings.json", ["train.py"], virtual="cuda:2", output_format="json")
        shown = capsys.readouterr()
        report = json.loads(shown.out)
        assert code == 1
        assert "until here" in shown.err
        assert {(f["rule"], f["verdict"]) for f in report["findings"]} == EXPECTED
        assert report["run"] == {"exit_code": 1, "devices": "virtual cuda:2"}
        assert report["files"] == 1

    def test_a_pytest_command(self, program, tmp_path, capsys):
        (tmp_path / "test_net.py").write_text(
            "import torch\ndef test_add():\n    torch.ones(2).cuda() + torch.ones(2)\n"
        )
        report = {"version": 1, "findings": [{**finding("DEV101", 3), "path": "test_net.py"}]}
        command = ["pytest", "-q", "-p", "no:cacheprovider", "test_net.py"]
        result = confirm(report, command, virtual="cuda:1")
        assert [f["verdict"] for f in result.findings] == ["confirmed"]
        assert result.outcome.exit_code == 1

    def test_a_worker_that_touches_the_accelerator(self, program, tmp_path, capsys):
        (tmp_path / "data.py").write_text(
            "import torch\n"
            "torch.zeros(1).cuda()\n"
            "class Data(torch.utils.data.Dataset):\n"
            "    def __len__(self):\n"
            "        return 2\n"
            "    def __getitem__(self, i):\n"
            "        return torch.zeros(1).cuda()\n"
            "list(torch.utils.data.DataLoader(Data(), num_workers=1))\n"
        )
        report = {"version": 1, "findings": [{**finding("DEV403", 7), "path": "data.py"}]}
        result = confirm(report, ["data.py"], virtual="cuda:1")
        assert [f["verdict"] for f in result.findings] == ["confirmed"]
        assert "Cannot re-initialize CUDA in forked subprocess" in capsys.readouterr().err

    @pytest.mark.parametrize("data", ["[]", '{"version": 2, "findings": []}', '{"findings": [1]}'])
    def test_what_is_no_report(self, program, tmp_path, data):
        (tmp_path / "findings.json").write_text(data)
        with pytest.raises(ValueError, match="report"):
            run_confirm("findings.json", ["train.py"], virtual="cuda:1")


def test_a_broken_contract_is_confirmed_by_a_run_that_goes_on(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "def f(x):  # devlint: device[x=cuda]\n"
        "    return x\n"
        "def g(x):  # devlint: device[x=cuda]\n"
        "    return x\n"
        "f(torch.zeros(2))\n"
        "g(torch.zeros(2).cuda())\n"
        "print('done')\n"
    )
    findings = [
        {**finding("DEV108", line), "path": "program.py", "message": "but parameter `x` of …"}
        for line in (6, 7)
    ]
    report = tmp_path / "findings.json"
    report.write_text(json.dumps({"version": 1, "files": 1, "findings": findings, "errors": []}))
    command = ["python", str(program)]
    assert run_confirm(str(report), command, virtual="cuda:1", root=str(tmp_path)) == 1
    said = capsys.readouterr().out
    assert "done" in said and "1 confirmed, 1 refuted" in said
    assert "Expected parameter `x` of `f` to be on cuda, but found it on cpu!" in said
