"""What ordinary names of parameters stand for: only where annotation, default and use say nothing.

One row a kind, each with an example.  The last words of a name decide: ``hidden_dim`` is a ``dim``.
"""

from __future__ import annotations

import re

from runtime_guard.drive.values import Tensor, Text, Value

_ROWS: tuple[tuple[str, Value], ...] = (
    # def f(x, device): ...
    (r"(.*_)?(device|dev)", Text("torch.device(card)")),
    # def f(shape, dtype): ...
    (r"(.*_)?dtype", Text("torch.float32")),
    # def f(generator): torch.rand(2, generator=generator)
    (r"(.*_)?(generator|rng)", Text("torch.Generator(card)")),
    # def __init__(self, dim, num_heads): ...
    (r"(.*_)?n?_?heads?", Text("2")),
    # def __init__(self, depth): ...
    (r"(.*_)?(depth|n?layers?|blocks|stages|levels)", Text("2")),
    # def __init__(self, image_size, patch_size): ...
    (r"(.*_)?(image|img|input)_?(size|resolution)|resolution|img_?sz|imgsz", Text("32")),
    (r"(.*_)?patch_?size", Text("8")),
    (r"(.*_)?(kernel|window)(_size)?|ks", Text("3")),
    (r"(.*_)?(stride|padding|dilation|groups?|factor)", Text("1")),
    # def __init__(self, num_classes): ...
    (r"(.*_)?n?(classes|labels|nc|n_class)|nc", Text("4")),
    (r"(.*_)?(vocab|vocab_size|num_?(tokens|embeddings|words)|ntokens?)", Text("16")),
    (r"(.*_)?(batch_?size|bsz|bs)", Text("2")),
    (r"(.*_)?(steps?|timesteps|iterations?|epochs?|iters?|n_?iter)", Text("4")),
    (r"seed|(.*_)?(rank|index|idx|axis|level)|i", Text("0")),
    # nn.Linear(input_dim, hidden_size)
    (
        r"(.*_)?(dims?|size|sz|channels?|features?|hidden|units|width|height|planes|ch|chs|filters"
        r"|d_model|len|length|n|h|w|k|d|c|nf|nfe?|inner|max)|(n|num|max|dim|d|in|out)_.*"
        r"|(in|out|n)(put)?(size|dim|ch)?",
        Text("8"),
    ),
    (r"(.*_)?(eps|epsilon|tol|lr|learning_rate|weight_decay|decay)", Text("0.001")),
    (
        r"(.*_)?(dropout|drop|p|prob|rate|alpha|beta|gamma|temperature|scale|weight|ratio"
        r"|threshold|momentum|sigma|std|margin|conf|thresh|thres|smoothing|coef)",
        Text("0.5"),
    ),
    # def __init__(self, use_bias, is_causal): ...
    (
        r"(use|is|with|has|do|no|return|should|enable|add)_.*|bias|verbose|training|causal",
        Text("True"),
    ),
    (r"(.*_)?(path|file|filename|dir|folder|fname)|root", Text('"witness-file"')),
    (r"(.*_)?(name|mode|type|reduction|text)", Text('"mean"')),
    # def loss(logits, labels): ...
    (r"(.*_)?(masks?)", Tensor("bool", (2, 8))),
    (r"(.*_)?(len(gth)?s)", Tensor("long", (2,), 8)),
    (
        r"(.*_)?(labels?|targets?|tgt|ids|tokens?|indices|index|src|seq|words?|y|gt|classes)",
        Tensor("long", (2, 8)),
    ),
    (r"edge_index", Tensor("long", (2, 8))),
    (r"t|times?|timesteps?", Tensor("long", (2,))),
    (r"(.*_)?(imgs?|images?|pixels?|frames?)", Tensor("float", (2, 3, 32, 32))),
    (
        r"x|xs|z|(.*_)?(inputs?|hidden|states?|features?|feats?|embeddings?|embed|logits|preds?"
        r"|query|key|value|q|v|samples?|noise|waveform|wav|audio|signal|tensor|outputs?|scores?)",
        Tensor("float", (2, 8, 8)),
    ),
    (r"(.*_)?(boxes|bboxes|box)", Tensor("float", (8, 4))),
    # def train(model, loader): ...
    (
        r"(.*_)?(model|net|network|module|encoder|decoder|backbone|layer|critic|actor|generator)",
        Text("torch.nn.Linear(8, 8).to(card)"),
    ),
    (r"(.*_)?(criterion|loss|loss_fn)", Text("torch.nn.MSELoss()")),
    (
        r"(.*_)?(optimizer|optim)",
        Text("torch.optim.SGD(torch.nn.Linear(8, 8).to(card).parameters(), 0.1)"),
    ),
    # DataLoader(dataset=...)
    (
        r"(.*_)?(data_?set)s?",
        Text("[(torch.rand(8), torch.rand(8)) for _ in range(4)]"),
    ),
    (
        r"(.*_)?(data_?loader|loader)s?",
        Text("[(torch.rand(2, 8), torch.rand(2, 8)) for _ in range(3)]"),
    ),
    (r"(.*_)?(fn|func|function|activation|act|norm_layer|callback)", Text("torch.nn.Identity()")),
)
_PATTERNS = tuple((re.compile(pattern), value) for pattern, value in _ROWS)


def by_name(name: str) -> list[Value]:
    """What a parameter called ``name`` may be, the likeliest first."""
    plain = name.lower().strip("_.")
    return [value for pattern, value in _PATTERNS if pattern.fullmatch(plain)]


def is_device(name: str) -> bool:
    """Is a parameter called ``name`` a device?"""
    return bool(_PATTERNS[0][0].fullmatch(name.lower().strip("_.")))
