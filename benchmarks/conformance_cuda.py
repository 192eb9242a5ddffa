"""Ask a real CUDA device what virtual devices are held to, and write its answers as data files.

    python benchmarks/conformance_cuda.py [--world cuda] [--out FOLDER]

writes ``meetings.json``, ``waits.json``, ``casts.json`` and ``programs.json`` into
``tests/runtime_guard/card/``, with which the tests compare the virtual devices from then on.
Needs a CUDA device; exits with 2 where there is none.  ``--world virtual`` asks virtual devices the
same (under ``CUDA_VISIBLE_DEVICES=``), for a comparison within one release of PyTorch.

Every question is asked in a process of its own, which is started anew behind a question that the
card did not survive (a kernel that reads the host's memory ends all that comes after it).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from runtime_guard import DeviceGuard
from runtime_guard.conformance import card, operators, programs

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = ROOT / "tests" / "runtime_guard" / "card"
Question = tuple[str, Callable[[], Any]]
"""The key of an answer, and how to get it."""


def meetings(world: str, place: Any) -> Iterator[Question]:
    """One tensor of each operator's sample on the host: refused, or where the results are."""
    for case, op, sample in operators.all_cases():

        def ask(case: Any = case, op: Any = op, sample: Any = sample) -> Any:
            if not operators.run_case(op, sample, None, place).startswith("runs"):
                return None
            outcome, text = operators.run_and_tell(op, sample, case.left, place)
            return [outcome, text] if text else [outcome]

        yield case.key, ask


def samples(place: Any) -> Iterator[tuple[str, Any]]:
    """Calls of each operator with everything on the card: ``add#0`` and a function."""
    for name, op in operators.operators().items():
        try:
            found = operators.samples_of(op)[:6]
        except Exception:  # a few samplers need packages that are not installed
            continue
        for number, sample in enumerate(found):

            def call(op: Any = op, sample: Any = sample) -> Any:
                first, args, kwargs = pytree.tree_map(
                    lambda leaf: place(leaf, "cuda:0") if isinstance(leaf, torch.Tensor) else leaf,
                    sample,
                )
                return lambda: op(first, *args, **kwargs)

            yield f"{name}#{number}", call


def waits(world: str, place: Any) -> Iterator[Question]:
    """What an operator copies and waits for when all its tensors are on the card."""
    for key, prepare in samples(place):

        def ask(prepare: Any = prepare) -> Any:
            try:
                prepare()()  # the first call sets libraries up
            except Exception:
                return None
            call = prepare()
            if world == "cuda":
                found = card.count(call)
                return [found.h2d, found.d2h, found.warned, found.waited]
            with DeviceGuard() as guard:
                call()
            seen = [event.direction for event in guard.transfers for _ in range(event.count)]
            return [seen.count("H2D"), seen.count("D2H"), guard.count("sync")]

        yield key, ask


def casts(world: str, place: Any) -> Iterator[Question]:
    """The dtypes and devices of results, plain and under ``torch.autocast("cuda")``."""
    for key, prepare in samples(place):

        def ask(prepare: Any = prepare) -> Any:
            def kinds() -> str:
                try:
                    result = prepare()()
                except Exception as error:
                    return programs.first_line(error)[:120]
                return ", ".join(
                    f"{leaf.device} {str(leaf.dtype).removeprefix('torch.')}"
                    for leaf in pytree.tree_leaves(result)
                    if isinstance(leaf, torch.Tensor)
                )

            plain = kinds()
            with torch.autocast("cuda", dtype=torch.float16):
                return [plain, kinds()]

        yield key, ask


def small_programs(world: str, place: Any) -> Iterator[Question]:
    """Results, errors, copies and waits of ``programs.txt``."""
    for program in programs.programs():

        def ask(program: Any = program) -> Any:
            try:
                programs.run(program)  # sets libraries up
            except Exception as error:
                return {"broken": programs.first_line(error)}
            answer = programs.answer(program).data()
            if world == "cuda":
                names = programs.namespace()
                exec(program.before, names)
                result: list[Any] = []
                found = card.count(lambda: result.append(programs.ask(program, names)))
                answer["card"] = [found.h2d, found.d2h, found.d2d, found.warned, found.waited]
                answer["plain"] = list(result[0]) if result else []
            return answer

        yield program.name, ask


QUESTIONS: dict[str, Callable[[str, Any], Iterator[Question]]] = {
    "meetings": meetings,
    "waits": waits,
    "casts": casts,
    "programs": small_programs,
}


def work(world: Any, question: str, lines: Path) -> int:
    """Answer what ``lines`` has no answer to, a JSON line each.  1 where the card was lost."""
    known = {json.loads(line)[0] for line in lines.read_text().splitlines()}
    warnings.simplefilter("ignore")
    with lines.open("a") as out, operators.world(world) as place:
        for key, ask in QUESTIONS[question](world, place):
            if key in known:
                continue
            # written first: a question that ends the process is not asked again
            print(json.dumps([key, "lost"]), file=out, flush=True)
            torch.manual_seed(0)
            answer = ask()
            if world == "cuda":
                try:
                    card.settled()
                except Exception:
                    return 1
            print(json.dumps([key, answer]), file=out, flush=True)
    return 0


def ask_all(world: str, question: str, out: Path) -> int:
    """Ask one question of every operator or program, and write the answers."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines"
        lines.touch()
        while True:
            command = [sys.executable, __file__, "--world", world, "--work", question, str(lines)]
            before = lines.stat().st_size
            ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if ended.returncode == 0 or lines.stat().st_size == before:
                break
        if ended.returncode:
            print(ended.stderr[-2000:], file=sys.stderr)
        answers = dict(map(json.loads, lines.read_text().splitlines()))
    data = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(0) if world == "cuda" else "virtual",
        "answers": {key: found for key, found in sorted(answers.items()) if found is not None},
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{question}.json").write_text(json.dumps(data, indent=0) + "\n")
    lost = sum(found == "lost" for found in answers.values())
    print(f"{question}: {len(data['answers'])} answers, {lost} that the card did not survive")
    return ended.returncode


def main() -> int:
    """Ask everything in the world chosen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", choices=("cuda", "virtual"), default="cuda")
    parser.add_argument("--only", choices=tuple(QUESTIONS), action="append")
    parser.add_argument("--out", type=Path, default=ANSWERS)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.world == "cuda" and not torch.cuda.is_available():
        print("no CUDA device here: nothing to ask", file=sys.stderr)
        return 2
    if given.work:
        return work(given.world, given.work[0], Path(given.work[1]))
    return max(ask_all(given.world, name, given.out) for name in given.only or QUESTIONS)


if __name__ == "__main__":
    raise SystemExit(main())
