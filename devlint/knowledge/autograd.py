"""Operations whose result autograd records when an operand requires grad.

Names of Tensor's methods and of functions of `torch` and `torch.nn.functional`, which are alike.
Those that give integers or booleans (`argmax`, `eq`, `long`) or that cut the graph (`detach`) are
no part of it, and what is not named here counts as such.
"""

from __future__ import annotations

RECORDED_OPERATORS = frozenset({"+", "-", "*", "/", "@", "**"})

RECORDED_OPERATIONS = frozenset(
    # element by element
    {"abs", "ceil", "clamp", "cos", "cosh", "erf", "exp", "expm1", "floor", "log", "log10"}
    | {"log1p", "log2", "neg", "pow", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sin"}
    | {"sqrt", "square", "tan", "tanh", "add", "sub", "mul", "div", "where", "masked_fill", "lerp"}
    | {"leaky_relu", "elu", "gelu", "silu", "softplus", "logsigmoid", "softmax", "log_softmax"}
    # reductions; of several results only the first is one of them
    | {"mean", "sum", "prod", "norm", "std", "var", "logsumexp", "cumsum", "cumprod", "amax"}
    | {"amin", "max", "min", "median", "sort", "topk"}
    # shapes and parts
    | {"view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "t", "repeat"}
    | {"contiguous", "clone", "expand", "narrow", "chunk", "split", "unbind", "select", "flip"}
    | {"roll", "view_as", "expand_as", "cat", "stack", "gather", "index_select", "masked_select"}
    | {"cpu", "cuda", "float", "double", "half", "bfloat16"}
    # products, layers and losses
    | {"matmul", "mm", "bmm", "mv", "dot", "addmm", "einsum", "linear", "conv1d", "conv2d"}
    | {"normalize", "cosine_similarity", "interpolate", "pad", "cross_entropy", "nll_loss"}
    | {"mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy", "kl_div"}
    | {"binary_cross_entropy_with_logits"}
)

# NumPy hands these to the method of the same name that its argument has: it reads no memory.
NUMPY_DELEGATES = frozenset(
    {"sum", "prod", "max", "min", "amax", "amin", "any", "all", "mean", "std", "var"}
)
