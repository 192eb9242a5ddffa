"""The hand-written files: each can be read whole, and says what its library does."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import pytest

import devlint.knowledge
from devlint.knowledge import Agreement, Knowledge, Result, load
from devlint.knowledge.tables import SECTIONS, check_aliases, check_tables

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DIRECTORY = pathlib.Path(devlint.knowledge.__file__).parent / "libraries"
FILES = sorted(DIRECTORY.glob("*.toml"))


def tables_of(path: pathlib.Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def knowing(*packages: str) -> Knowledge:
    knowledge = load()
    for package in packages:
        knowledge.ensure(package)
    return knowledge


def test_the_libraries() -> None:
    assert {path.stem for path in FILES} >= {
        *("numpy", "pandas", "scipy", "sklearn", "cv2", "PIL", "matplotlib"),
        *("torchvision", "torchaudio", "transformers", "accelerate", "diffusers", "timm"),
        *("lightning", "pytorch_lightning", "torchmetrics", "ignite"),
        *("torch_geometric", "torch_scatter", "einops"),
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_entry_can_be_read(path: pathlib.Path) -> None:
    tables = tables_of(path)
    check_tables(tables, path.name)
    knowledge = knowing(path.stem)
    check_aliases(knowledge, tables, path.name)
    for section in SECTIONS:
        for name in tables.get(section, {}):
            assert getattr(knowledge, section).get(name) is not None, name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_entry_is_about_its_own_library(path: pathlib.Path) -> None:
    tables = tables_of(path)
    for section in SECTIONS:
        for name in tables.get(section, {}):
            assert name.partition(".")[0] == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_tensors_and_hosts_are_among_the_parameters(path: pathlib.Path) -> None:
    knowledge = knowing(path.stem)
    for name, entry in tables_of(path).get("functions", {}).items():
        if isinstance(entry, str):
            continue
        call = knowledge.functions[name]
        assert call.tensors | call.host | call.indices <= set(call.params), name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bases_and_instances_are_known(path: pathlib.Path) -> None:
    knowledge = knowing(path.stem)
    for section in ("modules", "classes"):
        for name, entry in tables_of(path).get(section, {}).items():
            if not isinstance(entry, str):
                for base in entry.get("bases", ()):
                    assert knowledge.module(base) or knowledge.class_(base), (name, base)
    for name, entry in tables_of(path).get("functions", {}).items():
        if not isinstance(entry, str) and "instance" in entry:
            assert knowledge.class_(entry["instance"]) is not None, name


def test_host_libraries_read_tensors_on_the_host() -> None:
    names = {
        "numpy": "numpy.concatenate",
        "pandas": "pandas.DataFrame",
        "scipy": "scipy.stats.pearsonr",
        "sklearn": "sklearn.metrics.accuracy_score",
        "cv2": "cv2.resize",
        "PIL": "PIL.Image.fromarray",
        "ase": "ase.Atoms",
        "matplotlib": "matplotlib.pyplot.plot",
        "soundfile": "soundfile.write",
        "imageio": "imageio.imwrite",
        "tifffile": "tifffile.imwrite",
        "seaborn": "seaborn.heatmap",
        "plotly": "plotly.graph_objects.Scatter3d",
        "SimpleITK": "SimpleITK.GetImageFromArray",
        "open3d": "open3d.utility.Vector3dVector",
        "trimesh": "trimesh.Trimesh",
    }
    knowledge = knowing(*names)
    for name in names.values():
        call = knowledge.function(name)
        assert call is not None
        assert call.reads_host, name


def test_plotlys_figures_have_two_names() -> None:
    knowledge = knowing("plotly")
    figures = [
        knowledge.function(f"plotly.{each}.Mesh3d") for each in ("graph_objects", "graph_objs")
    ]
    assert figures[0] is not None
    assert figures[0] is figures[1]


def test_scikit_learns_estimators_are_classes_and_its_functions_are_not() -> None:
    knowledge = knowing("sklearn")
    assert knowledge.function("sklearn.cluster.KMeans") is None
    fit = knowledge.method_of("sklearn.cluster.KMeans", "fit")
    assert fit is not None
    assert fit.reads_host


def test_tokenizers_give_host_tensors_that_move_in_place() -> None:
    knowledge = knowing("transformers")
    made = knowledge.function("transformers.AutoTokenizer.from_pretrained")
    assert made is not None
    called = knowledge.method_of(made.instance, "__call__")
    assert called is not None
    assert called.result is Result.CPU
    encoding = knowledge.class_(called.instance)
    assert encoding is not None
    assert (encoding.to, encoding.attributes["*"]) == ("in-place", Result.FIRST)


@pytest.mark.parametrize(
    "name",
    ["AutoModel", "AutoModelForCausalLM", "BertModel", "BertForMaskedLM", "CLIPVisionModel"],
)
def test_models_have_a_device(name: str) -> None:
    knowledge = knowing("transformers")
    made = knowledge.module(f"transformers.{name}.from_pretrained")
    assert made is not None
    assert made.device_parameter == "device_map"
    model = knowledge.module(made.bases[0])
    assert model is not None
    assert model.device_attribute == "device"


def test_prepare_moves() -> None:
    knowledge = knowing("accelerate", "lightning")
    for owner, method in (
        ("accelerate.Accelerator", "prepare"),
        ("lightning.fabric.Fabric", "setup"),
    ):
        call = knowledge.method_of(owner, method)
        assert call is not None
        assert call.moves
        assert call.result is Result.FIRST


def test_a_metric_wants_its_inputs_where_its_states_are() -> None:
    knowledge = knowing("torchmetrics")
    update = knowledge.method_of("torchmetrics.classification.MulticlassAccuracy", "update")
    assert update is not None
    assert update.agreement is Agreement.STRICT
    assert knowledge.method_of("torchmetrics.Accuracy", "add_state") is not None


def test_graphs_move_in_place() -> None:
    knowledge = knowing("torch_geometric")
    data = knowledge.class_("torch_geometric.data.Data")
    assert data is not None
    assert (data.to, data.attributes["num_nodes"]) == ("in-place", Result.HOST)


def test_diffusion_pipelines_move_in_place() -> None:
    knowledge = knowing("diffusers")
    made = knowledge.class_("diffusers.StableDiffusionPipeline.from_pretrained")
    assert made is not None
    assert (made.to, made.device_attribute) == ("in-place", "device")


def test_image_transforms() -> None:
    knowledge = knowing("torchvision")
    to_tensor = knowledge.method_of("torchvision.transforms.ToTensor", "__call__")
    resize = knowledge.method_of("torchvision.transforms.Resize", "__call__")
    assert to_tensor is not None
    assert resize is not None
    assert (to_tensor.result, resize.result) == (Result.CPU, Result.OPERANDS)
    assert knowledge.module("torchvision.models.resnet50") is not None
    assert knowledge.module("torchvision.ops.RoIAlign").stateful == "never"  # type: ignore[union-attr]
