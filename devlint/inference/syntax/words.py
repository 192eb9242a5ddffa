"""Words of a condition, and the questions that they answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.syntax.text import code, dotted, last_statement


def _words(node: cst.CSTNode, found: list[str], depth: int = 6) -> None:
    if type(node) is cst.Name or type(node) is cst.SimpleString:
        found.append(node.value)
    elif type(node) is cst.Attribute:
        found.append(node.attr.value)
        _words(node.value, found, depth)
    elif depth and type(node) is cst.Call:
        _words(node.func, found, depth - 1)
        for argument in node.args:
            _words(argument.value, found, depth - 1)
    elif depth and type(node) is cst.Subscript:
        _words(node.value, found, depth - 1)
        for part in node.slice:
            if type(part.slice) is cst.Index:  # `options["use_gpu"]`
                _words(part.slice.value, found, depth - 1)
    elif depth and (type(node) is cst.Tuple or type(node) is cst.List):
        for element in node.elements:
            _words(element.value, found, depth - 1)
    elif depth and type(node) is cst.UnaryOperation:
        _words(node.expression, found, depth - 1)
    elif depth and type(node) is cst.GeneratorExp:  # `all(d.type == "cuda" for d in devices)`
        _words(node.elt, found, depth - 1)
    elif depth and isinstance(node, (cst.BooleanOperation, cst.BinaryOperation)):
        _words(node.left, found, depth - 1)
        _words(node.right, found, depth - 1)
    elif depth and type(node) is cst.Comparison:
        _words(node.left, found, depth - 1)
        for target in node.comparisons:
            _words(target.comparator, found, depth - 1)


def words(node: cst.CSTNode) -> str:
    """The names and strings in a condition, as one text."""
    found: list[str] = []
    _words(node, found)
    return " ".join(found)


def asks_for_accelerator(node: cst.CSTNode) -> bool:
    """A condition on availability or on a device."""
    return holds("device-condition", words(node))


def _has_modulo(node: cst.CSTNode) -> bool:
    if type(node) is cst.BinaryOperation:
        return isinstance(node.operator, cst.Modulo) or (
            _has_modulo(node.left) or _has_modulo(node.right)
        )
    if type(node) is cst.Comparison:
        return _has_modulo(node.left)
    if type(node) is cst.BooleanOperation:
        return _has_modulo(node.left) or _has_modulo(node.right)
    if type(node) is cst.UnaryOperation:
        return _has_modulo(node.expression)
    return False


def is_cold(node: cst.CSTNode) -> bool:
    """A condition under which code that runs again and again does something only now and then."""
    return _has_modulo(node) or holds("rare-condition", words(node)) or _is_once(node)


def none_test(target: cst.ComparisonTarget) -> bool | None:
    """True for `is None` and `== None`, False for `is not None` and `!= None`: of a tensor, too,
    one asks what the other does. None for any other comparison."""
    right, operator = target.comparator, target.operator
    if not isinstance(right, cst.Name) or right.value != "None":
        return None
    if isinstance(operator, (cst.Is, cst.Equal)):
        return True
    return False if isinstance(operator, (cst.IsNot, cst.NotEqual)) else None


def names_module(callee: str) -> bool:
    """By its name what is called is a module, and no function that does something with one."""
    return holds("module-name", callee) and not holds("action-name", callee)


@lru_cache(maxsize=1)  # the file under check
def demonstration(tree: cst.Module) -> cst.If | None:
    """`if __name__ == "__main__":` of a file, if it only shows what the file defines: there is no
    command line in it, and no training."""
    for statement in tree.body:
        if isinstance(statement, cst.If) and "__name__" in code(statement.test):
            return None if holds("program-text", code(statement)) else statement
    return None


def _is_once(node: cst.CSTNode) -> bool:
    """`if self.x is None`, `if not self.initialized`, `if step == 0`, `if not self.training`."""
    if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
        return holds("once-condition", words(node)) or is_training(node.expression)
    if type(node) is cst.BooleanOperation and isinstance(node.operator, cst.And):
        return _is_once(node.left) or _is_once(node.right)
    if type(node) is cst.Comparison and len(node.comparisons) == 1:
        target = node.comparisons[0]
        right = target.comparator
        if isinstance(right, cst.Name) and right.value == "True":  # `if first_call is True`
            return _is_once(node.left)
        if none_test(target):
            return isinstance(node.left, cst.Attribute)
        if isinstance(target.operator, cst.Equal) and isinstance(right, cst.Integer):
            return holds("counter-name", words(node.left))
        return False
    return holds("first-condition", words(node))


def fills_table(node: cst.If) -> bool:
    """`if key not in table: table[key] = …`: each entry is made once."""
    test = node.test
    if type(test) is not cst.Comparison or type(test.comparisons[0].operator) is not cst.NotIn:
        return False
    table = dotted(test.comparisons[0].comparator)
    return bool(table) and any(
        type(target) is cst.Subscript and dotted(target.value) == table for target in _made_by(node)
    )


def catches_up(node: cst.If) -> bool:
    """`if version > self.version: self.version = version; …`: taken when something changed, since
    it makes its own test false."""
    test = node.test
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    sides = {dotted(test.left), dotted(test.comparisons[0].comparator)}
    if len(sides) < 2 or "" in sides:
        return False
    return any({dotted(target), dotted(value)} == sides for target, value in _bindings_in(node))


def returns_constant(node: cst.If) -> bool:
    """`if not mask.any(): return torch.tensor(0.0, device=x.device)`: there is nothing to compute,
    which is rare."""
    last = last_statement(node.body) if node.orelse is None else None
    return isinstance(last, cst.Return) and _is_constant(last.value)


def _is_constant(node: cst.CSTNode | None) -> bool:
    """A call of literals, by its options where they lead: no name stands where a value is given."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return all(_is_constant(element.value) for element in node.elements)
    if isinstance(node, cst.UnaryOperation):
        return _is_constant(node.expression)
    if isinstance(node, cst.Call):
        func = node.func
        if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call):
            return _is_constant(func.value)  # `torch.zeros(1).to(x.device)`
        return all(arg.keyword is not None or _is_constant(arg.value) for arg in node.args)
    return isinstance(node, cst.BaseNumber)


def fills_name(node: cst.If) -> bool:
    """`if best is None: best = …`: in a loop, in the first turn."""
    tests = [node.test]
    if type(node.test) is cst.BooleanOperation and isinstance(node.test.operator, cst.And):
        tests = [node.test.left, node.test.right]
    empty = {
        dotted(test.left)
        for test in tests
        if type(test) is cst.Comparison and none_test(test.comparisons[0])
    }
    return any(dotted(target) in empty for target in _made_by(node) if type(target) is cst.Name)


def _made_by(node: cst.If) -> Iterator[cst.BaseExpression]:
    """What the statements of a branch assign to."""
    return (target for target, _ in _bindings_in(node))


def _bindings_in(node: cst.If) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The targets that the statements of a branch assign to, each with what it gets."""
    for line in node.body.body:
        for small in line.body if type(line) is cst.SimpleStatementLine else ():
            if type(small) is cst.Assign:
                yield from ((target.target, small.value) for target in small.targets)


def is_training(node: cst.CSTNode) -> bool:
    """`self.training`."""
    return isinstance(node, cst.Attribute) and node.attr.value == "training"


def guards_error(node: cst.If) -> bool:
    """A branch that only raises, ends the program or warns."""
    body = node.body.body
    if not body or node.orelse is not None:
        return False
    last = last_statement(node.body)
    if isinstance(last, cst.Raise):
        return True
    if not isinstance(last, cst.Expr) or not isinstance(last.value, cst.Call):
        return False
    if dotted(last.value.func) in _ENDING:
        return True
    return len(body) == 1 and holds("warning-callee", words(last.value.func))


def fails(body: cst.BaseSuite) -> bool:
    """A branch that ends in an error, whatever it shows before: nobody waits for it."""
    last = last_statement(body)
    called = last.value if isinstance(last, cst.Expr) else None
    return isinstance(last, cst.Raise) or (
        isinstance(called, cst.Call) and dotted(called.func) in _ENDING
    )


_ENDING = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})


def skips_rest(node: cst.If) -> bool:
    """`if step % n != 0: continue`: what stands behind it runs now and then."""
    if node.orelse is not None or not is_cold(node.test):
        return False
    if not isinstance(last_statement(node.body), (cst.Continue, cst.Return)):
        return False
    negated = isinstance(node.test, cst.UnaryOperation) and isinstance(node.test.operator, cst.Not)
    return _has_modulo(node.test) or (negated and holds("rare-condition", words(node.test)))


def runs_without_gradients(node: cst.CSTNode) -> bool:
    """`torch.no_grad()`, `torch.inference_mode()`."""
    if isinstance(node, cst.Call):
        node = node.func
    return dotted(node).rpartition(".")[2] in ("no_grad", "inference_mode")
