"""Look-ups, libraries on demand, and a user's own files."""

from __future__ import annotations

import pathlib

import pytest

from devlint.knowledge import Agreement, Call, Knowledge, KnowledgeError, Result, load


@pytest.fixture
def knowledge() -> Knowledge:
    return load()


def user_file(tmp_path: pathlib.Path, text: str) -> pathlib.Path:
    path = tmp_path / "our_api.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_tables_are_mappings_that_build_entries_once(knowledge: Knowledge) -> None:
    functions = knowledge.functions
    assert "torch.add" in functions
    assert "torch.no_such_function" not in functions
    assert functions.get("torch.no_such_function") is None
    assert functions["torch.add"] is functions["torch.add"]
    assert len(list(functions)) == len(functions) > 900
    with pytest.raises(KeyError):
        functions["torch.no_such_function"]


def test_a_library_is_read_when_it_is_asked_for(knowledge: Knowledge) -> None:
    assert knowledge.function("einops.rearrange") is None
    knowledge.ensure("einops")
    knowledge.ensure("a_package_that_nobody_knows")
    rearrange = knowledge.function("einops.rearrange")
    assert rearrange is not None
    assert rearrange.tensors == {"tensor"}


def test_patterns_answer_for_names_without_an_entry(knowledge: Knowledge) -> None:
    knowledge.ensure("numpy")
    for name in ("numpy.mean", "numpy.linalg.norm", "numpy.random.shuffle"):
        call = knowledge.function(name)
        assert call is not None
        assert call.reads_host, name
    shape = knowledge.function("numpy.shape")
    assert shape is not None
    assert not shape.reads_host


def test_the_longest_pattern_wins(tmp_path: pathlib.Path) -> None:
    path = user_file(
        tmp_path,
        '[functions]\n"ours.*" = { result = "cpu" }\n"ours.gpu.*" = { result = "cuda" }\n',
    )
    knowledge = load([path])
    assert knowledge.functions["ours.gpu.make"].result is Result.CUDA
    assert knowledge.functions["ours.make"].result is Result.CPU


def test_renamed_packages(knowledge: Knowledge) -> None:
    knowledge.ensure("pytorch_lightning")
    for name in (
        "pytorch_lightning.LightningModule",
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.core.lightning.LightningModule",
    ):
        module = knowledge.module(knowledge.canonical(name))
        assert module is not None, name
        assert module.device_attribute == "device"
        assert "training_step" in module.hooks


def test_methods_are_found_in_bases(knowledge: Knowledge) -> None:
    knowledge.ensure("transformers")
    generate = knowledge.method_of("transformers.GPT2LMHeadModel", "generate")
    assert generate is not None
    assert "input_ids" in generate.tensors
    assert knowledge.method_of("transformers.GPT2LMHeadModel", "no_such_method") is None
    assert knowledge.method_of("no.such.Class", "generate") is None


def test_a_users_file_adds_and_replaces(tmp_path: pathlib.Path) -> None:
    path = user_file(
        tmp_path,
        """
        [functions]
        "our_lib.make_grid" = { params = ["size", "device"], result = "device" }
        "our_lib.grid" = "our_lib.make_grid"
        "numpy.asarray" = { result = "unknown" }

        [methods]
        to_half = { result = "first" }

        [modules]
        "our_lib.Head" = { params = ["width"], stateful = "always" }

        [classes."our_lib.Batch"]
        to = "in-place"
        attributes = { "*" = "first" }
        methods = { pack = { params = ["x"], tensors = ["x"], agreement = "strict" } }
        """,
    )
    knowledge = load([path])
    knowledge.ensure("numpy")  # read already: it must not take the user's entry back
    assert knowledge.functions["our_lib.make_grid"].result is Result.DEVICE
    assert knowledge.functions["our_lib.grid"] is knowledge.functions["our_lib.make_grid"]
    assert knowledge.functions["numpy.asarray"] == Call(result=Result.UNKNOWN)
    assert knowledge.functions["numpy.mean"].reads_host
    assert knowledge.methods["to_half"].result is Result.FIRST
    assert knowledge.modules["our_lib.Head"].params == ("width",)
    batch = knowledge.class_("our_lib.Batch")
    assert batch is not None
    assert (batch.to, batch.attributes) == ("in-place", {"*": Result.FIRST})
    assert batch.methods["pack"].agreement is Agreement.STRICT


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[function]\n"a.b" = {}', "unknown section 'function'; did you mean 'functions'?"),
        ('[functions]\n"a.b" = { tensor = ["x"] }', "unknown key 'tensor'; did you mean 'tensors'"),
        ('[functions]\n"a.b" = { tensors = "x" }', "expected a list of names, not 'x'"),
        ('[functions]\n"a.b" = { host_results = ["x"] }', "expected a list of numbers"),
        ('[functions]\n"a.b" = { sync = 1 }', "expected true or false, not 1"),
        ('[functions]\n"a.b" = { results = true }', "expected a whole number, not True"),
        ('[functions]\n"a.b" = { result = "gpu" }', "'gpu' is no known value"),
        ('[functions]\n"a.b" = { result = "operand" }', "did you mean 'operands'?"),
        ('[functions]\n"a.b" = { scalar = "allways" }', "did you mean 'always'?"),
        ('[functions]\n"a.b" = 3', "expected a table of fields, not 3"),
        ('[functions]\n"a.b" = "torch.ad"', "there is no 'torch.ad'; did you mean 'torch.add'?"),
        ('[functions]\n"a.b" = "a.c"\n"a.c" = "a.b"', "there is no 'a.c'"),
        ('[functions]\n"*.b" = {}', "a pattern begins with the name of its package"),
        ('[classes]\n"a.B" = { to = "inplace" }', "did you mean 'in-place'?"),
        ('[classes."a.B".methods]\nm = { tensor = [] }', "method 'm': unknown key 'tensor'"),
        ('[classes."a.B"]\nattributes = { x = "frist" }', "attribute 'x': 'frist' is no known"),
        ('needs = "lightning"', "key 'needs': expected a list of package names"),
        ('[renamed]\n"a" = 1', "renamed.'a': expected the other name, not 1"),
        ("functions = 1", "section 'functions': expected a table, not 1"),
        ("[functions", "no valid TOML"),
    ],
)
def test_errors_name_file_key_and_nearest(tmp_path: pathlib.Path, text: str, said: str) -> None:
    path = user_file(tmp_path, text)
    with pytest.raises(KnowledgeError) as caught:
        load([path])
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: pathlib.Path) -> None:
    with pytest.raises(KnowledgeError, match=r"nowhere\.toml: can't be read: No such file"):
        load([tmp_path / "nowhere.toml"])


def test_a_file_that_is_no_text(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "our_api.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(KnowledgeError, match="it is not UTF-8"):
        load([path])
