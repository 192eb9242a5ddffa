"""Assumptions that a rule adds: what the code does not show of its cost, its purpose, its machines.

A rule never says how sure it is: it says what it takes for granted, and the policy makes a
confidence of that (`devlint/inference/confidence/policy.py`). An assumption reads after
"assuming:", as in "the time that this takes matters".
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import Assumption, AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Mention, Site
from devlint.inference.syntax.words import demonstration
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.scopes import function_around


def assume(kind: AssumptionKind, site: Site, message: str) -> Assumptions:
    """One assumption, at the place that causes it."""
    return (Assumption(kind, site, message),)


def assume_if(needed: bool, kind: AssumptionKind, site: Site, message: str) -> Assumptions:
    """One assumption, or none where the code shows it."""
    return assume(kind, site, message) if needed else ()


def time_matters(facts: Facts, site: Site) -> Assumptions:
    """The assumption that it is worth making the code quicker: under every finding about speed."""
    matters = assume(AssumptionKind.TIME_MATTERS, site, "the time that this takes matters")
    shown = "what only shows what the classes of the file do has to be quick, too"
    demonstrates = warm_code(_is_demonstration(facts, site), site, shown)
    return matters + warm_file(facts, site) + demonstrates + _beside_debugging(facts, site)


def _beside_debugging(facts: Facts, site: Site) -> Assumptions:
    """The assumption that speed matters beside a wait behind each operation of `backward`: in all
    of a file that asks for that where it is imported, else in the function that does."""
    on = facts.anomaly_mode
    if on is None:
        return ()
    there = function_around(facts, on.node)
    message = "the code has to be quick, though anomaly mode waits behind each operation"
    in_force = there is None or there is function_around(facts, site.node)
    return warm_code(in_force, on, message)


def _is_demonstration(facts: Facts, site: Site) -> bool:
    """The main part of a file, below its classes, only shows what these do."""
    tree = facts.source.tree
    if not any(isinstance(s, cst.ClassDef) for s in tree.body):
        return False
    main = demonstration(tree)
    return main is not None and main in path_to(tree, site.node)


def function_is_called(facts: Facts, site: Site) -> Assumptions:
    """The assumption that a function which nothing in sight calls is called by somebody."""
    name = _named(facts, facts.uncalled, site)
    message = f"`{name}`, which nothing in the project calls, is called"
    kinds = AssumptionKind.FUNCTION_IS_CALLED, AssumptionKind.FUNCTION_IS_OFFERED
    return assume_if(bool(name), kinds[facts.is_installed], site, message)


def called(facts: Facts, site: Site) -> Assumptions:
    """The same of what is easily left alone there: nobody mends code that nothing calls."""
    name = _named(facts, facts.uncalled, site)
    message = f"`{name}`, which nothing in the project calls, is in use"
    return function_is_called(facts, site) + warm_code(bool(name), site, message)


def _is_used(facts: Facts, site: Site) -> Assumptions:
    """The assumption that what nothing in sight calls is called by somebody."""
    name = _named(facts, facts.left_over, site)
    return warm_code(bool(name), site, f"`{name}`, which nothing in the project calls, is in use")


def _named(facts: Facts, functions: Mapping[cst.CSTNode, str], site: Site) -> str:
    """What is noted of one of the functions around a place."""
    around = path_to(facts.source.tree, site.node) if functions else ()
    return next((functions[node] for node in around if node in functions), "")


def warm_file(facts: Facts, site: Site) -> Assumptions:
    """The assumption that a test, an export or code that prepares data is worth the remark, too,
    and that the code is in use."""
    message = "this file, one for tests, exports or data by its path, is worth it"
    cold = assume_if(is_cold_file(facts), AssumptionKind.COLD_FILE_COUNTS, site, message)
    return cold + in_use(facts, site)


def in_use(facts: Facts, site: Site) -> Assumptions:
    """The assumptions that what was put aside is worked on, that somebody calls what nothing in
    sight does, and that others than the author run the check of a module."""
    return put_aside(facts, site) + _is_used(facts, site) + self_test(facts, site)


def self_test(facts: Facts, site: Site) -> Assumptions:
    """The assumption that the check of a module that others import is worth the remark: its author
    runs it, by hand."""
    around = path_to(facts.source.tree, site.node) if facts.self_tests else ()
    message = "what only the check of this module runs, which others import, is worth it"
    return warm_code(not facts.self_tests.isdisjoint(around), site, message)


def put_aside(facts: Facts, site: Site) -> Assumptions:
    """The assumption that what was put aside or taken over, by the path of its file, is worked
    on."""
    aside = holds("left-behind-path", facts.source.path)
    message = "this file, put aside or taken over by its path, is worked on"
    return assume_if(aside, AssumptionKind.COLD_FILE_COUNTS, site, message)


def warm_code(needed: bool, site: Site, message: str) -> Assumptions:
    """The assumption that code which runs seldom is worth the remark, too."""
    return assume_if(needed, AssumptionKind.COLD_CODE_COUNTS, site, message)


def runs_without_cuda(site: Site) -> Assumptions:
    """The assumption that the code meets machines which lack what it demands."""
    message = "this code is to run on machines without CUDA"
    return assume(AssumptionKind.RUNS_WITHOUT_CUDA, site, message)


def runs_elsewhere(site: Site, sign: str) -> Assumptions:
    """The assumption that code meets other machines, too, though by a sign, if there is one, it is
    for CUDA."""
    kind = AssumptionKind.CUDA_CODE_RUNS_ELSEWHERE
    return assume_if(bool(sign), kind, site, f"the code is to run without CUDA, though {sign}")


def own_card(mention: Mention) -> Assumptions:
    """The assumption that a process uses another card than its current one, though the project
    makes one current: `torch.cuda.set_device(local_rank)`."""
    kind = AssumptionKind.PROCESS_USES_SEVERAL_CARDS
    message = "a process uses other cards than the one that the project makes current"
    return assume_if(mention.on_own_card, kind, mention.site, message)


NO_OTHER_MACHINE = "nothing in it, nor in what runs it, serves another machine"


def sign_of_cuda(mentions: list[Mention], serves_others: bool) -> str:
    """What shows that some of these are for CUDA on purpose; else that no other machine is served,
    if that is so."""
    alone = "" if serves_others else NO_OTHER_MACHINE
    return next((mention.on_purpose for mention in mentions if mention.on_purpose), alone)


def is_cold_file(facts: Facts) -> bool:
    """Tests, exports, and data prepared on the host, by the path of the file."""
    return holds("cold-path", facts.source.path)
