"""What the texts of a project's files tell: the names that they use, since what none of them uses
nothing in sight calls; and whether data sets move what they hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from devlint.inference.conventions import is_rebound
from devlint.project.attributes import Attributes
from devlint.project.cuda_builds import compiles_for_cuda
from devlint.project.programs import offers_host, without_comments
from devlint.project.reachability import Reaching
from devlint.project.uses import RUN, TEST, lines_with, texts_of

# A class of rows, and a move in it: `class Faces(Dataset):` … `return image.cuda()`.
_ROWS = re.compile(rb"^class \w+\([^)\n]*[Dd]ata_?[Ss]et.*\n", re.M)
_MOVE = re.compile(rb"\.cuda\(|\.to\([^)\n]*(?:cuda|device)")
# A function, and all rows in it: `x = {k: v.to(device) for k, v in x.items()}` … `DataLoader(…)`.
_FUNCTION = re.compile(rb"^(?:async )?def \w+\(.*\n", re.M)
_ALL_MOVED = re.compile(rb"\.(?:cuda\(|to\([^)\n]*(?:cuda|device))[^)\n]*\) for ")


def has_moving_data(text: bytes) -> bool:
    """Whether a class of rows in a file moves them, or makes them somewhere; or a function moves
    all that it makes loaders of."""
    if any(_MOVE.search(_body_at(text, rows.end())) for rows in _ROWS.finditer(text)):
        return True
    functions = _FUNCTION.finditer(text) if _ALL_MOVED.search(text) is not None else ()
    return any(_loads_moved(_body_at(text, function.end())) for function in functions)


def _loads_moved(body: bytes) -> bool:
    moved = _ALL_MOVED.search(body)
    return moved is not None and 0 <= moved.end() < body.find(b"oader(")


# What puts something on the card, whatever there is; and what goes by a device that it was given.
_DEMANDS = re.compile(
    rb"\.cuda\((?:\)|non_blocking)|[(=] ?[\"']cuda[\"']|\bdevice\([\"']cuda(?::\d)?[\"']\)"
)
_GOES_BY = re.compile(rb"(?<!\btorch)\.device\b|\bdevice ?= ?device\b|\.to\(device\b")


def demands_cuda(text: bytes) -> bool | None:
    """Whether a file puts something on the card and leaves no choice; None where it does neither.
    What goes by the device of some tensor leaves a choice where it demands no card beside."""
    if offers_host(text):
        return False
    placing = without_comments(b"\n".join(lines_with((b"cuda", b"device"), text)))
    if _DEMANDS.search(placing) is not None:
        return True
    return False if _GOES_BY.search(placing) is not None else None


def most_demand_cuda(texts: Iterable[bytes]) -> bool:
    """Whether files that demand CUDA outnumber those that leave a choice. One is no majority."""
    found = [demands_cuda(text) for text in texts]
    return found.count(True) > max(found.count(False), 1)


_TEST = re.compile(rb"^(?:async )?def _?test(?:_\w+)?\(.*\n", re.M)


_OFF = rb"False|false|None|null|0"
_ON = rb"True|true|1"


def sets_option(text: bytes, option: str) -> bool:
    """Whether a file may set an option so, `fast=True`, or to another word than this,
    `mode!'plain'`, or choose a member of an enumeration, `Mode.NOISY`: by a keyword, an assignment,
    an entry of a configuration, or from the command line. One that is handed on under its own name
    is set by whoever set it before; what a function declares, by nobody; nor does a comment, or the
    file's own test, set one."""
    text = _without_tests(without_comments(text))
    if "=" not in option and "!" not in option:
        return _chooses(text, *option.encode().split(b"."))
    name, sign, value = re.split(rb"([=!])", option.encode(), maxsplit=1)
    same, contrary = _told_apart(value, sign == b"=")
    own = rb"(?:[\w.]+\.)?" + name + rb"\b"
    given = rb"[ \t]*(?!" + contrary + rb"|" + own + rb"|[=\s])"
    keyword = rb"\b" + name + rb"[ \t]*(?::[ \t]*[\w.\[\], |]+)?=" + given
    entry = rb"[\"']" + name + rb"[\"']:" + given
    line = rb"^[ \t-]*" + name + rb":[ \t]*" + same
    asked = rb"--(?:no-|no_)?" + name.replace(b"_", rb"[-_]") + rb"\b"
    defined = rb"\bDEFINE_\w+\(\s*[\"']" + name + rb"[\"']"
    ways = (keyword, entry, line, asked, defined)
    return re.search(rb"|".join(ways), text, re.M) is not None


def _without_tests(text: bytes) -> bytes:
    """A file without the functions at its top that only try what it has: `def test(): …`."""
    kept, start = [], 0
    for test in _TEST.finditer(text):
        kept.append(text[start : test.start()])
        start = test.end() + len(_body_at(text, test.end()))
    return b"".join((*kept, text[start:]))


def _chooses(text: bytes, owner: bytes, member: bytes) -> bool:
    """Whether a file names a member of an enumeration, and not to compare with it; or makes one of
    its value or its name, or goes through all."""
    named = rb"\b" + owner + rb"\." + member + rb"\b(?!\s*[=!]=)"
    compared = rb"(?:[=!]=|\bis|\bnot)\s*(?:\w+\.)?$"
    made = rb"(?<!class )\b" + owner + rb"(?:\(|\[|\.__members__)|\bin " + owner + rb"\b(?!\.)"
    return re.search(made, text) is not None or any(
        re.search(compared, text[max(0, found.start() - 40) : found.start()]) is None
        for found in re.finditer(named, text)
    )


def _told_apart(value: bytes, is_so: bool) -> tuple[bytes, bytes]:
    """Patterns of what sets an option so in a configuration, and of what sets it otherwise."""
    if value in (b"True", b"False"):
        same, contrary = (_ON, _OFF) if value == b"True" else (_OFF, _ON)
        return rb"(?:" + same + rb")\b", rb"(?:" + contrary + rb")\b"
    word = re.escape(value.strip(b"\"'"))
    this, other = rb"[\"']" + word + rb"[\"']", rb"[\"'](?!" + word + rb"[\"'])"
    if is_so:
        return rb"[\"']?" + word + rb"\b", rb"(?:" + other + rb"|None\b)"
    return rb"(?![\"']?" + word + rb"\b)[\w\"']", this


def _body_at(text: bytes, start: int) -> bytes:
    """The lines from there on that are indented or empty."""
    end = start
    while end < len(text) and text[end : end + 1] in (b" ", b"\t", b"\r", b"\n"):
        end = text.find(b"\n", end) + 1 or len(text)
    return text[start:end]


# What is written: `net.cpu().state_dict()` of `torch.save(net.cpu().state_dict(), path)`.
_SAVED = re.compile(rb"^[^#\n]*\btorch\.save\(\s*([^,\n]*)", re.M)

# What was brought to the host, or each entry of it: `state[key] = state[key].cpu()`.
_ON_HOST = re.compile(
    rb"^[ \t]*(\w+)(?:\[[^\]\n]*\])?[ \t]*=[^=\n][^\n]*"
    rb"\.(?:cpu\(\)|to\((?:torch\.device\()?[\"']cpu[\"'])",
    re.M,
)


def saves_from_host(text: bytes) -> bool:
    """Whether all that a file saves was brought to the host before: `torch.save(net.cpu(), path)`,
    or a name of what was, or a dictionary that has such an entry."""
    on_host = set(_ON_HOST.findall(text))
    return all(
        b".cpu()" in saved
        or any(name in on_host or _has_entry(text, name, on_host) for name in _WORD.findall(saved))
        for saved in _SAVED.findall(text)
    )


def _has_entry(text: bytes, name: bytes, on_host: set[bytes]) -> bool:
    """`{"net": state, "epoch": 3}` under the name, of which one entry was brought to the host."""
    made = re.search(rb"^[ \t]*" + name + rb"[ \t]*=[ \t]*(?:dict\(|\{)([^{}]*)", text, re.M)
    return made is not None and not on_host.isdisjoint(_WORD.findall(made[1]))


_WORD = re.compile(rb"\b[A-Za-z_]\w*")

# What says how a project is installed.
_INSTALLING = ("setup.py", "setup.cfg", "pyproject.toml")


class Mentions:
    """What the files below a directory name, read when it is first asked for.

    Where there is too much to look through, all is taken to be named.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def look_through(self) -> None:
        """Look through the files now, rather than when something is asked of them."""
        if self._texts:
            self._reaching.look_through()
            self.is_for_cuda  # noqa: B018  # it is kept

    def elsewhere(self, name: str, file: Path) -> bool:
        """Whether another file than this names it, in code, configuration or documentation, and may
        mean what this one defines."""
        return not self._texts or self._reaching.is_named_elsewhere(name, file)

    def reaches(self, name: str, file: Path) -> bool:
        """Whether something that may run uses what a file defines. Where there is too much to look
        through, something does."""
        return not self._texts or self._reaching.reaches(name, file)

    def looks_names_up(self, file: Path) -> bool:
        """Whether code may take out of a file what no text names. Where there is too much to look
        through, it does."""
        return not self._texts or self._reaching.looks_names_up(file)

    def serves_readers(self, name: str, file: Path) -> bool:
        """Whether only code that shows something to a reader uses what a file defines. Where there
        is too much to look through, other code does as well."""
        return bool(self._texts) and self._reaching.serves_readers(name, file)

    def rebinds(self, attribute: str, file: Path) -> bool:
        """Whether another file than this, and no test, names a class and gives an object that is
        neither its own `self` nor a configuration a value under an attribute: `Class.attribute`.
        Where there is too much to look through, none does."""
        owner, _, name = (part.encode() for part in attribute.partition("."))
        return any(
            each != file
            and each.suffix in (".py", ".ipynb")
            and name in text
            and owner in text
            and is_rebound(text.decode(errors="replace"), name.decode())
            and re.search(rb"\b" + re.escape(owner) + rb"\b", text) is not None
            for each, text in self._outside_tests.items()
        )

    def gives(self, attribute: str, file: Path) -> bool:
        """Whether another file than this may give an object of a class an attribute,
        `Class.attribute`: it gives one to something that is neither its own `self` nor a
        configuration, or has a subclass. Where there is too much to look through, one does."""
        return not self._texts or self._attributes.gives(attribute, file)

    def sets(self, option: str) -> bool:
        """Whether a file that is no test may set an option so: `fast=True`. Where there is too much
        to look through, one does."""
        name = re.split("[=!.]", option, maxsplit=1)[0]
        literals = {name.encode(), name.replace("_", "-").encode()}
        return not self._texts or any(
            any(each in text for each in literals) and sets_option(text, option)
            for text in self._outside_tests.values()
        )

    def compiling(self) -> list[Path]:
        """The files that compile kernels of CUDA's when they are imported. Where there is too much
        to look through, none does."""
        return [file for file, text in self._outside_tests.items() if compiles_for_cuda(text)]

    @cached_property
    def data_is_moved(self) -> bool:
        """Whether a data set of the project moves rows, or makes them somewhere. Where there is too
        much to look through, none does."""
        return any(b"ata" in text and has_moving_data(text) for text in self._texts.values())

    @cached_property
    def is_for_cuda(self) -> bool:
        """Whether most files that place something demand CUDA: to do so is no exception there.
        Where there is too much to look through, they do not."""
        return most_demand_cuda(self._code())

    @cached_property
    def chooses_card(self) -> bool:
        """Whether some file that is no test makes a card the current one of its process. Where
        there is too much to look through, none does."""
        return any(b"cuda.set_device(" in text for text in self._code())

    @cached_property
    def saves_from_host(self) -> bool:
        """Whether the files that are no tests save something, and all of it from the host:
        `torch.save(net.cpu().state_dict(), path)`. Where there is too much to look through, they do
        not."""
        saving = [text for text in self._code() if b"torch.save(" in text]
        return bool(saving) and all(saves_from_host(text) for text in saving)

    @cached_property
    def is_application(self) -> bool:
        """Whether some file of the project is run, and nothing says how to install it: code out of
        sight imports none of it."""
        if any((self.root / name).is_file() for name in _INSTALLING):
            return False
        return any(RUN.search(text) is not None for text in self._code())

    @cached_property
    def _texts(self) -> dict[Path, bytes]:
        return texts_of(self.root)

    @cached_property
    def _outside_tests(self) -> dict[Path, bytes]:
        """The files that are no tests."""
        return {
            file: text
            for file, text in self._texts.items()
            if not TEST.search(file.relative_to(self.root).as_posix())
        }

    def _code(self) -> Iterator[bytes]:
        """The texts of the Python files that are no tests."""
        return (text for file, text in self._outside_tests.items() if file.suffix == ".py")

    @cached_property
    def _reaching(self) -> Reaching:
        return Reaching(self.root, self._texts, not self.is_application)

    @cached_property
    def _attributes(self) -> Attributes:
        return Attributes(self._texts)
