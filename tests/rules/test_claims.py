"""What the rules say of facts: severity, confidence, message, trace, advice and fix."""

from __future__ import annotations

from dataclasses import replace

import pytest
from facts_by_hand import (
    CHOSEN,
    INPUT,
    SELF,
    assumed,
    claims,
    fixed,
    loop,
    meeting,
    move,
    only,
    operand,
    source,
)
from rule_check import RULES

from devlint.findings import Applicability, Confidence, Severity
from devlint.inference.domain.placement import CPU, CUDA, Device
from devlint.inference.facts import (
    ElementAccess,
    HostRead,
    Hotness,
    LateMove,
    LateRead,
    MeetingKind,
    Mention,
    NonLeaf,
    Operand,
    PlainAttribute,
    Rebinding,
    Step,
    StepKind,
    Sync,
)

MASKED = source("x = given\nmask = torch.ones(n)\ny = mask + x\n")


def masked_meeting(**fields: object):
    return meeting(
        operand(MASKED, "mask", CPU, made="torch.ones(n)", by_default=True),
        operand(MASKED, "x", INPUT),
        MASKED.site("mask + x"),
        **fields,
    )


class TestMeetings:
    @pytest.mark.parametrize(
        ("there", "severity"),
        [(INPUT, Severity.WARNING), (Device("cuda", 1), Severity.ERROR)],
    )
    def test_where_the_current_card_will_do_another_one_is_a_matter_of_the_machine(
        self, there, severity
    ):
        met = meeting(
            operand(MASKED, "mask", CUDA, made="torch.ones(n)"),
            operand(MASKED, "x", there),
            MASKED.site("mask + x"),
        )
        assert only(claims(RULES["DEV106"], MASKED, meetings=[met])).severity is severity

    def test_the_claim_names_both_values_and_both_devices(self):
        claim = only(claims(RULES["DEV102"], MASKED, meetings=[masked_meeting()]))
        assert claim.message == "`mask` is on cpu, `x` on the device of `x`: `+` needs one device"
        assert claim.severity is Severity.ERROR
        assert claim.confidence is Confidence.CERTAIN

    def test_the_trace_ends_with_where_each_operand_is(self):
        claim = only(claims(RULES["DEV102"], MASKED, meetings=[masked_meeting()]))
        assert [note.message for note in claim.trace] == ["`mask` is on cpu: made here"]

    def test_earlier_steps_of_the_trace_say_only_what_happened_there(self):
        text = source("a = torch.ones(3)\nb = a.cuda()\nb + c\n")
        steps = (
            Step(StepKind.CREATED, text.site("torch.ones(3)"), "made here"),
            Step(StepKind.MOVED, text.site("a.cuda()"), "moved here"),
        )
        left = Operand("c", CPU, text.site("c"))
        right = Operand("b", CUDA, text.site("b"), steps)
        claim = only(
            claims(RULES["DEV101"], text, meetings=[meeting(left, right, text.site("b + c"))])
        )
        assert [note.message for note in claim.trace] == ["made here", "`b` is on cuda: moved here"]

    def test_an_operation_in_a_callee_is_the_last_step(self):
        inside = MASKED.site("x")
        claim = only(claims(RULES["DEV102"], MASKED, meetings=[masked_meeting(inside=inside)]))
        assert claim.trace[-1].site == inside
        assert "meet here" in claim.trace[-1].message

    def test_an_operation_in_a_callee_is_named_with_the_function_called(self):
        text = source("blend(mask, x)\n")
        met = meeting(
            operand(text, "mask", CPU),
            operand(text, "x", CUDA),
            text.site("blend(mask, x)"),
            inside=text.site("x"),
        )
        claim = only(claims(RULES["DEV101"], text, meetings=[met]))
        assert claim.message.endswith("`+` inside `blend` needs one device")

    def test_the_advice_is_in_the_users_own_names(self):
        claim = only(claims(RULES["DEV102"], MASKED, meetings=[masked_meeting()]))
        assert claim.advice == "move it before they meet: `mask.to(x.device)`"

    def test_where_nothing_can_be_edited_it_says_what_to_write(self):
        inside = MASKED.site("x")
        claim = only(claims(RULES["DEV102"], MASKED, meetings=[masked_meeting(inside=inside)]))
        assert claim.fix == ()
        assert "`torch.ones(n, device=x.device)`" in claim.advice

    @pytest.mark.parametrize(
        "made", ["nn.Parameter(t)", "torch.Tensor(3)", "torch.LongTensor(n)", "Normal(0, 1)"]
    )
    def test_no_device_is_advised_for_what_takes_none(self, made: str):
        text = source(f"{made} + x\n")
        left = operand(text, made, CPU, made=made, takes_device=False, by_default=True)
        met = meeting(left, operand(text, "x", INPUT), text.site(f"{made} + x"))
        claim = only(claims(RULES["DEV102"], text, meetings=[met]))
        assert "device=" not in claim.advice
        assert fixed(text, claim) == f"{made}.to(x.device) + x\n"

    def test_a_caught_meeting_says_that_the_exception_hides_it(self):
        plain = only(claims(RULES["DEV102"], MASKED, meetings=[masked_meeting()]))
        caught = only(claims(RULES["DEV102"], MASKED, meetings=[masked_meeting(caught=True)]))
        assert caught.message.startswith(plain.message) and "hides" in caught.message
        assert caught.severity is plain.severity

    def test_the_fix_moves_a_named_tensor_where_the_two_meet(self):
        claim = only(claims(RULES["DEV102"], MASKED, meetings=[masked_meeting()]))
        assert claim.applicability is Applicability.SAFE
        assert [(r.site.node, r.text) for r in claim.fix] == [
            (MASKED.site("mask").node, "mask.to(x.device)")
        ]

    def test_the_fix_gives_device_to_a_factory_beside_the_other_operand(self):
        text = source("y = x + torch.ones(n)\n")
        left = operand(text, "torch.ones(n)", CPU, made="torch.ones(n)", by_default=True)
        met = meeting(left, operand(text, "x", INPUT), text.site("x + torch.ones(n)"))
        claim = only(claims(RULES["DEV102"], text, meetings=[met]))
        assert fixed(text, claim) == "y = x + torch.ones(n, device=x.device)\n"

    def test_a_move_to_the_wrong_place_is_turned(self):
        text = source('y = x.to("cpu") + z\n')
        left, right = operand(text, 'x.to("cpu")', CPU), operand(text, "z", CUDA)
        met = meeting(left, right, text.site('x.to("cpu") + z'))
        claim = only(claims(RULES["DEV101"], text, meetings=[met]))
        assert fixed(text, claim) == "y = x.to(z.device) + z\n"

    def test_no_move_is_put_behind_a_container(self):
        text = source("y = torch.cat(rows)\n")
        left = operand(text, "rows", CPU, by_default=True, element=True)
        right = operand(text, "rows", CUDA, element=True)
        met = meeting(left, right, text.site("torch.cat(rows)"), operation="torch.cat")
        claim = only(claims(RULES["DEV101"], text, meetings=[met]))
        assert claim.fix == ()
        assert claim.message == (
            "`rows` holds tensors on cpu and on cuda: `torch.cat` needs one device"
        )

    def test_no_fix_where_the_other_operand_has_no_name(self):
        text = source("y = f(x)[0] + mask\n")
        met = meeting(
            operand(text, "mask", CPU, by_default=True),
            operand(text, "f(x)[0]", INPUT),
            text.site("f(x)[0] + mask"),
        )
        assert only(claims(RULES["DEV102"], text, meetings=[met])).fix == ()

    def test_a_module_and_its_input(self):
        text = source("model(batch)\n")
        met = meeting(
            operand(text, "batch", CPU, loaded=True),
            operand(text, "model", CUDA),
            text.site("model(batch)"),
            kind=MeetingKind.INPUT,
            operation="model",
        )
        claim = only(claims(RULES["DEV103"], text, meetings=[met]))
        assert claim.message == "`model` is on cuda, its input `batch` on cpu"
        turned = met._replace(left=met.right, right=met.left)
        assert only(claims(RULES["DEV103"], text, meetings=[turned])).message == claim.message

    def test_an_index_of_a_host_tensor_comes_to_the_host(self):
        text = source("rows[scores > 0]\n")
        met = meeting(
            operand(text, "rows", CPU),
            operand(text, "scores > 0", CUDA),
            text.site("rows[scores > 0]"),
            kind=MeetingKind.INDEX,
            operation="index",
        )
        claim = only(claims(RULES["DEV104"], text, meetings=[met]))
        assert fixed(text, claim) == "rows[(scores > 0).cpu()]\n"

    @pytest.mark.parametrize(("device", "fixable"), [('"cuda"', True), ("device", False)])
    def test_a_generator_is_made_on_the_device_it_fills(self, device: str, fixable: bool):
        made = f"torch.randn(3, generator=g, device={device})"
        text = source(f"g = torch.Generator()\n{made}\n")
        met = meeting(
            operand(text, "g", CPU, made="torch.Generator()"),
            operand(text, made, CUDA),
            text.site(made),
            kind=MeetingKind.GENERATOR,
            operation="torch.randn",
        )
        claim = only(claims(RULES["DEV105"], text, meetings=[met]))
        # A name may not be bound yet where the generator is made.
        assert f"torch.Generator(device={device if fixable else '…'})" in claim.advice
        assert bool(claim.fix) is fixable
        if fixable:
            assert 'g = torch.Generator(device="cuda")\n' in fixed(text, claim)


class TestMoves:
    TEXT = source("x.to(device)\n")

    def discarded(self, **fields: object):
        subject = operand(self.TEXT, "x", CPU)
        return move(self.TEXT, "x.to(device)", subject, discarded=True, **fields)

    def test_a_discarded_move_of_what_nothing_shows_to_be_needed_is_a_warning(self):
        claim = only(claims(RULES["DEV201"], self.TEXT, moves=[self.discarded()]))
        assert (claim.severity, claim.confidence) == (Severity.WARNING, Confidence.LIKELY)
        assert fixed(self.TEXT, claim) == "x = x.to(device)\n"

    def test_a_module_moves_in_place(self):
        assert claims(RULES["DEV201"], self.TEXT, moves=[self.discarded(of_module=True)]) == []

    def test_a_nameless_tensor_is_a_warm_up(self):
        text = source("torch.zeros(1).cuda()\n")
        subject = operand(text, "torch.zeros(1)", CPU, by_default=True)
        made = text.site("torch.zeros(1)")
        warm_up = move(text, "torch.zeros(1).cuda()", subject, discarded=True, creation=made)
        assert claims(RULES["DEV201"], text, moves=[warm_up]) == []

    @pytest.mark.parametrize(
        ("code", "after", "applicability"),
        [
            ("torch.zeros(n).to(d)", "torch.zeros(n, device=d)", Applicability.SAFE),
            ("torch.zeros(n).cuda()", 'torch.zeros(n, device="cuda")', Applicability.SAFE),
            ("torch.zeros(n).cuda(1)", 'torch.zeros(n, device="cuda:1")', Applicability.SAFE),
            ("torch.randn(n).to(d)", "torch.randn(n, device=d)", Applicability.UNSAFE),
            ("torch.zeros(n).to(d, torch.half)", None, Applicability.SAFE),
        ],
    )
    def test_a_tensor_made_to_be_moved_is_made_there(self, code, after, applicability):
        text = source(f"{code}\n")
        factory = code[: code.index(")") + 1]
        subject = operand(text, factory, CPU, made=factory)
        made = move(text, code, subject, target=CHOSEN, creation=text.site(factory))
        claim = only(claims(RULES["DEV304"], text, moves=[made]))
        assert claim.applicability is applicability
        assert (fixed(text, claim) == f"{after}\n") if after else claim.fix == ()

    @pytest.mark.parametrize(
        "factory",
        [
            "torch.from_numpy(a)",
            "torch.as_tensor(a)",
            "torch.randn(3, generator=g)",
            "F.to_tensor(image)",
            "F.pil_to_tensor(image)",
            "ToTensor()(image)",
        ],
    )
    def test_what_has_to_be_copied_anyway_is_no_finding(self, factory: str):
        text = source(f"{factory}.to(d)\n")
        made = move(
            text,
            f"{factory}.to(d)",
            operand(text, factory, CPU),
            target=CHOSEN,
            creation=text.site(factory),
        )
        assert claims(RULES["DEV304"], text, moves=[made]) == []


class TestLoops:
    TEXT = source("for batch in loader:\n    w.to(d)\n    loss.item()\n    print(loss)\n")

    def the_loop(self, hotness: Hotness = Hotness.HOT, feeds: bool = True):
        text = self.TEXT
        node = text.tree.body[0]
        made = loop(text, "loader", hotness, feeds)
        return made._replace(site=replace(made.site, node=node))

    def sync(self, call: str = "loss.item()", cold: bool = False, loop=None, **fields: object):
        loss = operand(self.TEXT, "loss", CUDA)
        return Sync(self.TEXT.site(call), ".item()", loss, loop or self.the_loop(), cold, **fields)

    def test_one_finding_for_a_loop_with_all_places_in_its_trace(self):
        syncs = [self.sync(), self.sync("print(loss)")]
        claim = only(claims(RULES["DEV303"], self.TEXT, syncs=syncs))
        assert claim.site == self.TEXT.site("loss.item()")
        assert [note.site for note in claim.trace] == [
            self.TEXT.site("loader"),
            self.TEXT.site("print(loss)"),
        ]
        assert claim.severity is Severity.PERFORMANCE

    def test_the_cost_is_said_in_the_fields_terms(self):
        claim = only(claims(RULES["DEV303"], self.TEXT, syncs=[self.sync()]))
        assert "the host waits for all queued kernels" in claim.message

    def test_a_sync_inside_a_callee_names_the_call(self):
        inside = self.sync("print(loss)")._replace(call="call", inside=self.TEXT.site("loss"))
        inside = inside._replace(operand=inside.operand._replace(name="print(loss)"))
        claim = only(claims(RULES["DEV303"], self.TEXT, syncs=[inside]))
        assert claim.message.startswith("`print(loss)` reads from the device")
        assert "`call`" not in claim.message

    def test_a_name_may_hold_braces(self):
        braced = self.sync()
        braced = braced._replace(operand=braced.operand._replace(name='f({"a": loss}[{}])'))
        claim = only(claims(RULES["DEV303"], self.TEXT, syncs=[braced]))
        assert '`f({"a": loss}[{}])` in every iteration' in claim.message

    def test_one_finding_for_a_loop_over_elements_reads_first(self):
        loss = operand(self.TEXT, "loss", CUDA)
        around = self.the_loop()
        write = ElementAccess(self.TEXT.site("print(loss)"), loss, True, around)
        read = ElementAccess(self.TEXT.site("loss.item()"), loss, False, around)
        claim = only(claims(RULES["DEV305"], self.TEXT, element_accesses=[write, read]))
        assert claim.site == read.site and claim.confidence is Confidence.LIKELY
        alone = only(claims(RULES["DEV305"], self.TEXT, element_accesses=[write]))
        assert alone.confidence is Confidence.POSSIBLE  # it may be a whole row

    def test_a_cold_sync_is_none(self):
        assert claims(RULES["DEV303"], self.TEXT, syncs=[self.sync(cold=True)]) == []

    @pytest.mark.parametrize("hotness", [Hotness.EPOCHS, Hotness.COLD])
    def test_once_per_epoch_or_layer_is_none(self, hotness: Hotness):
        syncs = [self.sync(loop=self.the_loop(hotness))]
        assert claims(RULES["DEV303"], self.TEXT, syncs=syncs) == []

    def test_a_loop_that_feeds_no_device_is_none(self):
        syncs = [self.sync(loop=self.the_loop(feeds=False))]
        assert claims(RULES["DEV303"], self.TEXT, syncs=syncs) == []

    def test_an_invariant_transfer(self):
        moved = move(
            self.TEXT,
            "w.to(d)",
            operand(self.TEXT, "w", CPU),
            loop=self.the_loop(),
            invariant=True,
        )
        claim = only(claims(RULES["DEV301"], self.TEXT, moves=[moved]))
        assert claim.severity is Severity.PERFORMANCE
        assert "loader" in claim.message
        for other in (
            moved._replace(invariant=False),
            moved._replace(loop=self.the_loop(Hotness.EPOCHS)),
            moved._replace(loop=None),
            moved._replace(subject=moved.subject._replace(placement=CUDA)),
        ):
            assert claims(RULES["DEV301"], self.TEXT, moves=[other]) == []

    def test_an_invariant_transfer_is_hoisted(self):
        text = source("w = ones(3)\nfor batch in loader:\n    f(batch, w.to(d))\n")
        around = loop(text, "loader")
        around = around._replace(site=replace(around.site, node=text.tree.body[1]))
        subject = operand(text, "w", CPU)
        moved = move(text, "w.to(d)", subject, loop=around, invariant=True)
        claim = only(claims(RULES["DEV301"], text, moves=[moved]))
        wanted = "w = ones(3)\nw = w.to(d)\nfor batch in loader:\n    f(batch, w)\n"
        assert fixed(text, claim) == wanted
        assert claim.applicability is Applicability.UNSAFE

    def test_a_pinned_source_copied_with_waiting(self):
        moved = move(
            self.TEXT, "w.to(d)", operand(self.TEXT, "w", CPU, pinned=True), loop=self.the_loop()
        )
        assert "pinned" in only(claims(RULES["DEV306"], self.TEXT, moves=[moved])).message
        assert claims(RULES["DEV306"], self.TEXT, moves=[moved._replace(non_blocking=True)]) == []

    def test_no_waiting_wished_for_pageable_memory(self):
        batch = operand(self.TEXT, "w", CPU, loaded=True, pageable=True)
        moved = move(self.TEXT, "w.to(d)", batch, loop=self.the_loop(), non_blocking=True)
        assert "pageable" in only(claims(RULES["DEV306"], self.TEXT, moves=[moved])).message
        unseen = moved._replace(subject=batch._replace(pageable=False))
        for other in (moved._replace(non_blocking=False), unseen):
            assert claims(RULES["DEV306"], self.TEXT, moves=[other]) == []


class TestHost:
    TEXT = source("np.mean(x.abs() + 1)\n")

    @pytest.mark.parametrize("placement", [CUDA, SELF, INPUT, CHOSEN])
    def test_numpy_of_what_may_be_on_an_accelerator(self, placement):
        read = HostRead(
            self.TEXT.site("np.mean(x.abs() + 1)"),
            "np.mean",
            operand(self.TEXT, "x.abs() + 1", placement),
            assumed(self.TEXT),
        )
        claim = only(claims(RULES["DEV401"], self.TEXT, host_reads=[read]))
        assert claim.confidence is Confidence.LIKELY
        assert fixed(self.TEXT, claim) == "np.mean((x.abs() + 1).detach().cpu())\n"

    def test_what_was_detached_is_only_copied(self):
        text = source("x.detach().numpy()\n")
        read = HostRead(
            text.site("x.detach().numpy()"),
            ".numpy()",
            operand(text, "x.detach()", CUDA),
            (),
        )
        claim = only(claims(RULES["DEV401"], text, host_reads=[read]))
        assert fixed(text, claim) == "x.detach().cpu().numpy()\n"

    def test_the_fix_of_a_late_read_waits(self):
        text = source('h = x.to("cpu", non_blocking=True)\nprint(h)\n')
        copy = text.site('x.to("cpu", non_blocking=True)')
        late = LateRead(copy, text.site("print(h)"), operand(text, "h", CPU))
        claim = only(claims(RULES["DEV402"], text, late_reads=[late]))
        assert claim.site == late.read and claim.trace[0].site == copy
        assert fixed(text, claim) == 'h = x.to("cpu")\nprint(h)\n'


class TestLeaves:
    TEXT = source("w = torch.rand(3, requires_grad=True).cuda()\n")

    def fact(self, use: str, **fields: object) -> NonLeaf:
        made = "torch.rand(3, requires_grad=True)"
        site = self.TEXT.site(f"{made}.cuda()")
        subject = operand(self.TEXT, made, CPU)
        return NonLeaf(site, subject, use, None)._replace(**fields)

    @pytest.mark.parametrize(
        ("use", "severity", "confidence"),
        [
            ("optimizer", Severity.ERROR, Confidence.CERTAIN),
            ("grad", Severity.ERROR, Confidence.CERTAIN),
            ("attribute", Severity.ERROR, Confidence.POSSIBLE),
            ("returned", Severity.WARNING, Confidence.POSSIBLE),
            ("", Severity.WARNING, Confidence.POSSIBLE),
        ],
    )
    def test_how_bad_it_is_depends_on_the_use(self, use, severity, confidence):
        claim = only(claims(RULES["DEV203"], self.TEXT, non_leaves=[self.fact(use)]))
        assert (claim.severity, claim.confidence) == (severity, confidence)

    def test_a_moved_parameter_is_one_that_its_module_does_not_register(self):
        fact = self.fact("attribute")
        fact = fact._replace(operand=fact.operand._replace(is_parameter=True))
        claim = only(claims(RULES["DEV203"], self.TEXT, non_leaves=[fact]))
        assert (claim.severity, claim.confidence) == (Severity.ERROR, Confidence.LIKELY)

    def test_a_parameter_made_of_what_was_given_may_be_there_before_the_move(self):
        fact = self.fact("attribute")
        given = operand(self.TEXT, "torch.rand(3, requires_grad=True)", INPUT, is_parameter=True)
        claim = only(claims(RULES["DEV203"], self.TEXT, non_leaves=[fact._replace(operand=given)]))
        assert claim.confidence is Confidence.POSSIBLE

    @pytest.mark.parametrize(
        ("asked", "said", "severity"),
        [
            ("", "is no leaf, since it requires grad", Severity.ERROR),
            (", requires_grad=True", "is no leaf, since it requires grad", Severity.ERROR),
            (", requires_grad=False", "is a plain tensor, since a parameter", Severity.WARNING),
        ],
    )
    def test_the_message_says_what_the_move_makes_of_it(self, asked, said, severity):
        made = f"nn.Parameter(masks{asked})"
        text = source(f"self.masks = {made}.cuda()\n")
        leaf = operand(text, made, CPU, is_parameter=True)
        fact = NonLeaf(text.site(f"{made}.cuda()"), leaf, "attribute", None)
        claim = only(claims(RULES["DEV203"], text, non_leaves=[fact]))
        assert (said in claim.message, claim.severity) == (True, severity)

    def test_the_fix_makes_the_leaf_on_the_device(self):
        claim = only(claims(RULES["DEV203"], self.TEXT, non_leaves=[self.fact("optimizer")]))
        assert fixed(self.TEXT, claim) == 'w = torch.rand(3, requires_grad=True, device="cuda")\n'
        assert claim.applicability is Applicability.UNSAFE

    @pytest.mark.parametrize(
        ("subject", "after"),
        [
            ("nn.Parameter(torch.ones(3))", "nn.Parameter(torch.ones(3).cuda())"),
            ("canvas", 'canvas.detach().to("cuda").requires_grad_()'),
        ],
    )
    def test_the_leaf_is_made_from_what_was_moved(self, subject: str, after: str):
        text = source(f"w = {subject}.cuda()\n")
        leaf = operand(text, subject, CPU)
        fact = NonLeaf(text.site(f"{subject}.cuda()"), leaf, "optimizer", None)
        claim = only(claims(RULES["DEV203"], text, non_leaves=[fact]))
        wanted = after.replace(".cuda()", '.to("cuda")')
        assert fixed(text, claim) == f"w = {wanted}\n"

    def test_a_copy_beside_its_named_leaf_is_right(self):
        text = source("y = x.cuda()\n")
        fact = NonLeaf(text.site("x.cuda()"), operand(text, "x", CPU), "", None)
        assert claims(RULES["DEV203"], text, non_leaves=[fact]) == []


class TestAttributes:
    TEXT = source("self = Encoder()\nself.pe = torch.zeros(8)\nself.layers = [nn.Linear(2, 2)]\n")

    def fact(self, **fields: object) -> PlainAttribute:
        usual = PlainAttribute(
            site=self.TEXT.site("self.pe"),
            class_name="Encoder",
            attribute="pe",
            operand=operand(self.TEXT, "torch.zeros(8)", CPU, "torch.zeros(8)", by_default=True),
            of_modules=False,
            overwrites="",
            used_at=self.TEXT.site("torch.zeros(8)"),
            excused=False,
            method="__init__",
        )
        return usual._replace(**fields)

    def check(self, code: str, **fields: object):
        return claims(RULES[code], self.TEXT, plain_attributes=[self.fact(**fields)])

    def test_a_tensor_used_with_the_modules_values_is_an_error(self):
        claim = only(self.check("DEV205"))
        assert (claim.severity, claim.confidence) == (Severity.ERROR, Confidence.LIKELY)

    def test_one_not_seen_in_use_may_be_meant(self):
        claim = only(self.check("DEV205", used_at=None))
        assert (claim.severity, claim.confidence) == (Severity.WARNING, Confidence.POSSIBLE)

    def test_the_fix_registers_it_outside_the_state_dict(self):
        claim = only(self.check("DEV205"))
        assert claim.applicability is Applicability.UNSAFE
        wanted = 'self.register_buffer("pe", torch.zeros(8), persistent=False)\n'
        assert wanted in fixed(self.TEXT, claim)

    @pytest.mark.parametrize("code", ["DEV205", "DEV206", "DEV207"])
    def test_an_excused_one_is_none(self, code: str):
        for fields in ({}, {"of_modules": True}, {"overwrites": "buffer", "method": "reset"}):
            assert self.check(code, excused=True, **fields) == []

    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({}, "DEV205"),
            ({"of_modules": True}, "DEV206"),
            ({"overwrites": "buffer", "method": "reset"}, "DEV207"),
            ({"overwrites": "parameter", "method": "reset"}, "DEV207"),
        ],
    )
    def test_one_rule_claims_each(self, fields, code):
        codes = ["DEV205", "DEV206", "DEV207"]
        assert [c for c in codes if self.check(c, **fields)] == [code]

    def test_a_plain_list_of_modules_becomes_a_module_list(self):
        site = self.TEXT.site("self.layers")
        claim = only(self.check("DEV206", of_modules=True, attribute="layers", site=site))
        assert "self.layers = nn.ModuleList([nn.Linear(2, 2)])" in fixed(self.TEXT, claim)

    def test_an_overwritten_buffer_gets_the_device_of_the_old_one(self):
        claim = only(self.check("DEV207", overwrites="buffer", method="reset"))
        assert "self.pe = torch.zeros(8, device=self.pe.device)" in fixed(self.TEXT, claim)


class TestOthers:
    def test_adagrad_makes_its_state_at_once(self):
        text = source("o = Adagrad(m.parameters())\np = Adam(m.parameters())\nm.cuda()\n")
        moved = text.site("m.cuda()")
        eager = LateMove(text.site("Adagrad(m.parameters())"), moved, "m")
        lazy = LateMove(text.site("Adam(m.parameters())"), moved, "m")
        first, second = claims(RULES["DEV202"], text, late_moves=[eager, lazy])
        assert (first.severity, first.confidence) == (Severity.ERROR, Confidence.CERTAIN)
        assert (second.severity, second.confidence) == (Severity.WARNING, Confidence.POSSIBLE)
        loaded = only(claims(RULES["DEV202"], text, late_moves=[lazy._replace(loaded=True)]))
        assert (loaded.severity, loaded.confidence) == (Severity.ERROR, Confidence.LIKELY)

    def test_a_rebound_loop_variable_matters_if_the_container_is_used(self):
        text = source("t = t.to(d)\n")
        used = Rebinding(text.site("t = t.to(d)"), "t", "ts", True)
        assert (
            "`ts` keeps the old tensors"
            in only(claims(RULES["DEV204"], text, rebindings=[used])).message
        )
        assert claims(RULES["DEV204"], text, rebindings=[used._replace(used_later=False)]) == []

    @pytest.mark.parametrize(
        ("container", "base", "advice"),
        [
            ("ts", "ts", "`ts = [t.to(d) for t in ts]`"),
            ("batch.items()", "batch", "`batch[…] = t.to(d)`"),
            ("self.state.values()", "self.state", "`self.state[…] = t.to(d)`"),
            ("enumerate(ts)", "ts", "`ts[…] = t.to(d)`"),
        ],
    )
    def test_how_the_container_is_kept_up(self, container: str, base: str, advice: str):
        text = source("t = t.to(d)\n")
        fact = Rebinding(text.site("t = t.to(d)"), "t", container, True)
        claim = only(claims(RULES["DEV204"], text, rebindings=[fact]))
        assert f"`{base}` keeps the old tensors" in claim.message
        assert advice in claim.advice


class TestMentions:
    TEXT = source('a = x.cuda()\nb = y.cuda()\nc = torch.device("cuda")\nd = torch.load(p)\n')

    def mention(self, text: str, kind: str = "device", **fields: object) -> Mention:
        usual = Mention(self.TEXT.site(text), kind, text, None, False, False, False)
        usual = usual._replace(serves_host=True, weights=kind == "load")
        return usual._replace(**fields)

    def test_one_finding_for_each_cause_with_its_twins(self):
        mentions = [self.mention("x.cuda()"), self.mention("y.cuda()")]
        claim = only(claims(RULES["DEV501"], self.TEXT, mentions=mentions))
        assert claim.site == mentions[0].site
        assert [note.site for note in claim.trace] == [mentions[1].site]
        assert claim.confidence is Confidence.LIKELY

    def test_a_file_for_one_kind_of_machine_is_only_possible(self):
        mention = self.mention("x.cuda()", serves_host=False)
        for shown, confidence in [
            (mention, Confidence.POSSIBLE),
            (mention._replace(in_main=True), Confidence.POSSIBLE),
            (mention._replace(serves_host=True), Confidence.LIKELY),
            (mention._replace(in_main=True, serves_host=True), Confidence.LIKELY),
        ]:
            claim = only(claims(RULES["DEV501"], self.TEXT, mentions=[shown]))
            assert claim.confidence is confidence

    def test_data_that_is_loaded_is_only_possible(self):
        mention = self.mention("torch.load(p)", "load", weights=False)
        claim = only(claims(RULES["DEV502"], self.TEXT, mentions=[mention]))
        assert claim.confidence is Confidence.POSSIBLE

    def test_the_global_rank_is_no_card_of_this_node(self):
        mention = self.mention("x.cuda()", per_rank=True, global_rank=True)
        claim = only(claims(RULES["DEV505"], self.TEXT, mentions=[mention]))
        assert claim.confidence is Confidence.LIKELY
        assert "local_rank" in claim.advice

    def test_the_main_part_of_a_script_is_a_cause_of_its_own(self):
        mentions = [self.mention("x.cuda()"), self.mention("y.cuda()", in_main=True)]
        library, main = claims(RULES["DEV501"], self.TEXT, mentions=mentions)
        assert library.site == mentions[0].site and main.site == mentions[1].site
        assert "as a parameter" in library.advice and "is_available" in main.advice

    @pytest.mark.parametrize("kind", ["device", "backend", "load"])
    def test_a_guarded_one_is_none(self, kind: str):
        mention = self.mention("torch.load(p)", kind, guarded=True)
        for code in ("DEV501", "DEV502", "DEV504", "DEV505"):
            assert claims(RULES[code], self.TEXT, mentions=[mention]) == []

    def test_the_fix_of_a_device_asks_first(self):
        text = 'torch.device("cuda")'
        claim = only(claims(RULES["DEV501"], self.TEXT, mentions=[self.mention(text)]))
        assert 'torch.device("cuda" if torch.cuda.is_available() else "cpu")' in fixed(
            self.TEXT, claim
        )

    def test_the_fix_of_a_load_says_where_to(self):
        mention = self.mention("torch.load(p)", "load")
        claim = only(claims(RULES["DEV502"], self.TEXT, mentions=[mention]))
        assert 'torch.load(p, map_location="cpu")' in fixed(self.TEXT, claim)
        assert claim.applicability is Applicability.UNSAFE

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("x.type(torch.FloatTensor)", 'x.to("cpu", torch.float32)'),
            ("x.type(torch.cuda.LongTensor)", 'x.to("cuda", torch.int64)'),
            (
                'torch.set_default_tensor_type("torch.cuda.FloatTensor")',
                'torch.set_default_device("cuda")',
            ),
            (
                "torch.set_default_tensor_type(torch.DoubleTensor)",
                "torch.set_default_dtype(torch.float64)",
            ),
            ("torch.LongTensor([1, 2])", "torch.tensor([1, 2], dtype=torch.int64)"),
            (
                "torch.cuda.HalfTensor([1])",
                'torch.tensor([1], dtype=torch.float16, device="cuda")',
            ),
            ("torch.cuda.FloatTensor(3)", None),
        ],
    )
    def test_legacy_types_in_todays_words(self, before: str, after: str | None):
        text = source(f"{before}\n")
        mention = Mention(text.site(before), "legacy-type", before, None, False, False, False)
        claim = only(claims(RULES["DEV503"], text, mentions=[mention]))
        assert (fixed(text, claim) == f"{after}\n") if after else claim.fix == ()

    def test_a_fixed_card_is_surer_than_the_current_one(self):
        fixed_card = self.mention("x.cuda()", per_rank=True, index=0)
        current = self.mention("y.cuda()", per_rank=True)
        first, second = claims(RULES["DEV505"], self.TEXT, mentions=[fixed_card, current])
        assert (first.confidence, second.confidence) == (Confidence.LIKELY, Confidence.POSSIBLE)
