"""Functions that only programs which demand CUDA come to, as the texts of a project say.

    ops.py      def step(x): return x.cuda()
    run.py      assert torch.cuda.is_available()
                step(x)

Who names a function may call it: a table that holds it, the package that hands it on, and in turn
whoever names the function that stands around.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from devlint.project.import_graph import text_of
from devlint.project.origins import means_its_own
from devlint.project.programs import Programs, is_script, offers_host, without_comments
from devlint.project.uses import FILES, uses_in

MOST = 40  # functions on the way from one to the programs
_DEMANDS = re.compile(
    rb"^[ \t]*assert torch\.cuda\.is_available\(\)(?! +(?:or|and)\b)"
    rb"|^[ \t]*if not torch\.cuda\.is_available\(\):\s*(?:raise\b|(?:sys\.)?exit\()",
    re.M,
)
_TOP_LINE = re.compile(rb"^[^\s#)\]}@]", re.M)
_DEFINED = re.compile(rb"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.M)


class CudaCallers:
    """Who comes to a function, by name: found when it is asked for."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._demanding: dict[Path, bool] = {}
        self._texts: dict[Path, bytes] = {}
        self._reached: dict[Path, bool] = {}

    def demand_cuda(self, file: Path, name: str) -> bool:
        """Whether all programs that come to what a file defines under a name fail without CUDA, and
        there is one."""
        if not self._is_reached(file):
            return False
        found = False
        waiting, seen = [(file, name)], {(file, name)}
        while waiting:
            defining, word = waiting.pop()
            for user, text in self._users(defining):
                for around in _around_uses(user, text, word.encode(), user == defining):
                    if self._is_program(user, text):
                        demands = self._demands(user, text)
                        if user != defining and not demands:
                            return False
                        if demands and _asks(without_comments(text), around):
                            found = True
                            continue
                    if not around:
                        return False  # at the top of a module: it may do anything with it
                    if (user, around) not in seen:
                        seen.add((user, around))
                        waiting.append((user, around))
            if len(seen) > MOST:
                return False
        return found

    def _users(self, file: Path) -> Iterator[tuple[Path, bytes]]:
        """The file itself, and those that import it, or a package that does."""
        for each in sorted({file, *self._programs.importers_of(file)}):
            yield each, self._text(each)

    def _text(self, file: Path) -> bytes:
        text = self._texts.get(file)
        if text is None:
            text = self._texts[file] = text_of(file).encode()
        return text

    def _is_reached(self, file: Path) -> bool:
        """Some file that demands CUDA imports a file, however far away."""
        known = self._reached.get(file)
        if known is None:
            above = self._programs.graph.reaching(file)
            known = any(self._demands(each, self._text(each)) for each in above)
            self._reached[file] = known
        return known

    def _is_program(self, file: Path, text: bytes) -> bool:
        return is_script(text) or not self._programs.graph.importers_of(file)

    def _demands(self, file: Path, text: bytes) -> bool:
        known = self._demanding.get(file)
        if known is None:
            asks = _DEMANDS.search(without_comments(text)) is not None
            known = self._demanding[file] = asks and not offers_host(text)
        return known


def _around_uses(file: Path, text: bytes, word: bytes, is_own: bool) -> Iterator[str]:
    """For each use of a name in a file: what is defined around it at the top; "" where nothing is.
    What stands around its own uses only is left out."""
    if word not in text or (not is_own and means_its_own(text, word)):
        return
    starts, names = _tops(text)
    for place in uses_in(file, text, word, False):
        line = text.rfind(b"\n", 0, place) + 1
        inside = text[line : line + 1] in (b" ", b"\t")
        at = bisect_right(starts, place) - 1
        if at < 0 or not (inside or starts[at] == line):
            quoted = text[place - 1 : place] in (b'"', b"'")  # `__all__ = ["step"]` only offers it
            if not quoted:
                yield ""
        elif names[at] != word:
            yield names[at].decode()


def _asks(text: bytes, name: str) -> bool:
    """CUDA is demanded in what a file defines under a name, or outside of all definitions."""
    starts = [each.start() for each in _TOP_LINE.finditer(text)]
    for demand in _DEMANDS.finditer(text):
        line = text[starts[bisect_right(starts, demand.start()) - 1] :]
        around = _DEFINED.match(line)
        if around is None or around.group(1).decode() == name:
            return True
    return False


@lru_cache(maxsize=FILES)
def _tops(text: bytes) -> tuple[list[int], list[bytes]]:
    """Where the definitions at the top of a file begin, and their names."""
    found = list(_DEFINED.finditer(text))
    return [each.start() for each in found], [each.group(1) for each in found]
