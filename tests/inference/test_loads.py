"""A load without `map_location`: which bring another run's weights."""

import pytest
from given import given


def brings_weights(code, files=None):
    return [fact.weights for fact in given(code, files).mentions if fact.kind == "load"]


@pytest.mark.parametrize(
    ("target", "source", "found"),
    [
        ("'net.pt'", "'net.pt'", False),
        ("'net.pt'", "'best.pt'", True),
        ("folder + '/net.pt'", "folder + '/net.pt'", False),
        ("folder + '/net.pt'", "other + '/net.pt'", True),
        ("'{}.pt'.format(epoch)", "'{}.pt'.format(best)", False),
        ("'{}.pt'.format(epoch)", "f'{best}.pt'", False),
        ("'%d.pt' % epoch", "'%03d.pt' % best", False),
        ("'{}.pt'.format(epoch)", "'{}.bin'.format(best)", True),
        ("f'{folder}'", "f'{other}'", True),
        ("os.path.join(folder, f'{epoch}.pt')", "os.path.join(folder, f'{best}.pt')", False),
        ("args.out", "args.out", False),
        ("args.out", "args.checkpoint", True),
    ],
)
def test_what_the_script_has_saved(target, source, found):
    code = f"""
        with folders() as folder:
            torch.save(net.state_dict(), {target})
            net.load_state_dict(torch.load({source}))
    """
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("path = name('a'); torch.save(net.state_dict(), path)", False),
        ("path = name('a'); torch.save(net.state_dict(), path); path = name('b')", True),
        ("path = make(); torch.save(net.state_dict(), path); path = make()", True),
        ("path = 'a.pt'; torch.save(net.state_dict(), 'a.pt')", False),
        ("path = 'a.pt'; torch.save(net.state_dict(), open('a.pt', 'wb'))", False),
        ("path = 'a.pt'; torch.save(net.state_dict(), 'b.pt')", True),
    ],
)
def test_places_are_followed_through_names(lines, found):
    code = f"{lines}\nnet.load_state_dict(torch.load(path))"
    assert brings_weights(code) == [found]


def test_files_are_opened_to_be_saved_and_loaded():
    code = """
        with open("a.pt", "wb") as file:
            torch.save(net.state_dict(), file)
        with open("{}.pt", "rb") as file:
            net.load_state_dict(torch.load(file))
    """
    assert brings_weights(code.replace("{}", "a")) == [False]
    assert brings_weights(code.replace("{}", "b")) == [True]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("for epoch in range(9):\n    if train(net): torch.save(net.state_dict(), 'a.pt')", False),
        ("if args.train: torch.save(net.state_dict(), 'a.pt')", True),
        ("def keep(): torch.save(net.state_dict(), 'a.pt')", True),
        ("def keep(): torch.save(net.state_dict(), 'a.pt')\nkeep()", False),
        ("def keep(): torch.save(net.state_dict(), 'a.pt')\nif args.train: keep()", True),
        ("def keep(name): torch.save(net.state_dict(), name)\nkeep('b.pt')", True),
    ],
)
def test_the_script_has_saved_in_any_case(before, found):
    code = f"{before}\nnet.load_state_dict(torch.load('a.pt'))\n"
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("main", "found"),
    [
        ("fit(net)\n    check(net)", False),
        ("check(net)\n    fit(net)", True),
        ("if args.train: fit(net)\n    check(net)", True),
        ("if args.train:\n        fit(net)\n        check(net)", False),
        ("check(net)", True),
    ],
)
def test_all_callers_have_had_it_saved(main, found):
    code = f"""
def fit(net):
    torch.save(net.state_dict(), "best.pt")

def check(net):
    net.load_state_dict(torch.load("best.pt"))

def main(args, net):
    {main}
"""
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("saved", "returned", "found"),
    [("path", "path", False), ("path", "other", True), ("other", "path", True)],
)
def test_what_it_calls_says_where_it_has_saved(saved, returned, found):
    code = f"""
        class Run:
            def train(self, other):
                path = f"best_{{self.n}}.pt"
                torch.save(self.net.state_dict(), {saved})
                return {returned}

            def run(self):
                best = self.train("last.pt")
                self.net.load_state_dict(torch.load(best))
    """
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("torch.jit.save(net, file); return torch.jit.load(file)", False),
        ("net.save('a.pt'); return torch.jit.load('a.pt')", False),
        ("net = torch.jit.load('a.pt'); torch.jit.save(net, 'a.pt')", True),
        ("torch.jit.save(net, 'b.pt'); return torch.jit.load('a.pt')", True),
    ],
)
def test_a_scripted_module_goes_through_a_file(body, found):
    code = f"""
        def again(net):
            file = io.BytesIO()
            {body}
    """
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("steps", "saved", "file", "found"),
    [
        ("0", "self.steps", "steps.pt", False),
        ("0", "{'steps': self.steps, 'lr': 0.1}", "steps.pt", False),
        ("0", "(self.steps, self.loss.item())", "steps.pt", False),
        ("0", "(self.steps, self.loss)", "steps.pt", True),
        ("0", "self.steps", "net.pt", True),
        ("torch.zeros(1)", "self.steps", "steps.pt", False),  # of the host
        ("torch.zeros(1, device=start.device)", "self.steps", "steps.pt", True),
        ("start", "self.steps", "steps.pt", True),
    ],
)
def test_a_class_writes_numbers_to_the_file(steps, saved, file, found):
    code = f"""
        class Learner:
            def __init__(self, start):
                self.steps = {steps}

            def update(self):
                self.steps += 1

            def save_model(self, folder):
                torch.save({saved}, os.path.join(folder, "{file}"))

            def load_model(self, folder):
                self.steps = torch.load(os.path.join(folder, "steps.pt"))
    """
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("test", "path", "target", "found"),
    [
        ("on_host", "path", "'cpu'", False),
        ("on_host", "path", "torch.device('cpu')", False),
        ("on_host", "path", "lambda storage, loc: storage", False),
        ("on_host", "other", "'cpu'", True),
        ("on_host", "path", "card", True),
        ("rank == 0", "path", "'cpu'", True),
    ],
)
def test_the_host_has_a_load_of_its_own(test, path, target, found):
    code = f"""
        def restore(net, path, other, card, rank, on_host):
            if {test}:
                weights = torch.load({path}, map_location={target})
            else:
                weights = torch.load(path)
            net.load_state_dict(weights)
    """
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("print(state.numpy())", False),
        ("axes.quiver(state[0, 0].detach().numpy(), state[0, 1].numpy())", False),
        ("print(state.cpu().numpy())", True),
        ("print(state['loss'].numpy()); net.load_state_dict(state['net'])", True),
        ("print(other.numpy())", True),
        ("state = clean(state); print(state.numpy())", True),
    ],
)
def test_what_numpy_takes_as_it_is_loaded_is_of_the_host(use, found):
    code = f"""
    state = torch.load("state.pt")
    {use}
    """
    assert brings_weights(code) == [found]
    assert brings_weights(f"def show(axes, other):{code}") == [found]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("losses, steps = torch.load('model.pt')\nplt.plot(losses)", False),
        ("curves = torch.load('model.pt')\nplt.plot(curves[0], label='loss')", False),
        ("losses, net = torch.load('model.pt')\nplt.plot(other)", True),
        ("losses, net = torch.load('model.pt')\nmodel.plot(losses)", True),
    ],
)
def test_what_is_plotted_as_it_is_loaded_is_of_the_host(code, found):
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("net = torch.load(args.file)", True),
        ("first = torch.load(args.file)\nfirst.eval()", True),
        ("first = torch.load(args.file)\nother.load_state_dict(first['net'])", True),
        ("first = torch.load(args.file)\nfirst.sum()", False),
        ("table = torch.load(args.file)", False),
        ("old_critic, rates = torch.load(args.file)", True),
        ("with open(args.resume) as file:\n    first = torch.load(file)", True),
        ("with open(args.file) as file:\n    first = torch.load(file)", False),
        ("first = torch.load(args.file, mmap=True)\nother.load_state_dict(first)", True),
        ("net = torch.load(args.file, mmap=True)", False),
    ],
)
def test_what_a_load_is_called_and_used_for(lines, found):
    code = "def run(args, other):\n" + "".join(f"    {line}\n" for line in lines.split("\n"))
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", "torch.save(net.state_dict(), out)", True),
        ("torch.save(net.state_dict(), out)", "", False),
        ("", "loss(net).backward()", True),
        ("loss(net).backward()", "", False),
        ("def step(): loss(net).backward()", "", False),
    ],
)
def test_what_is_written_afterwards_is_not_what_was_loaded(before, after, found):
    code = f"""
        def run(net, path, out):
            {before or "pass"}
            net.load_state_dict(torch.load(path))
            {after or "pass"}
    """
    assert brings_weights(code) == [found]


def test_each_turn_of_a_loop_loads_what_the_last_one_has_written():
    code = """
        def run(net, path):
            for _ in range(9):
                net.load_state_dict(torch.load(path))
                torch.save(net.state_dict(), name(path))
    """
    assert brings_weights(code) == [False]


@pytest.mark.parametrize(
    ("parameter", "given", "found"),
    [
        ("map_location=None", "", [True]),
        ("map_location=None", ", map_location='cpu'", []),
        ("map_location=None", ", 'cpu'", []),
        ("map_location=None", ", **options", []),
        ("map_location='cpu'", "", []),
        ("map_location", "", []),
    ],
)
def test_a_function_that_loads_to_where_it_is_told(parameter, given, found):
    code = f"""
        def fetched(path, {parameter}):
            return torch.load(path, map_location=map_location)

        def run(args, **options):
            return fetched(args.weights{given})
    """
    assert brings_weights(code) == found


def test_who_says_where_for_other_files_knows_why_not_for_this_one():
    code = """
        def fetched(path, map_location=None):
            return torch.load(path, map_location=map_location)

        def run(args, net):
            net.load_state_dict(fetched(args.weights, map_location="cpu"))
            return fetched(args.state)
    """
    assert brings_weights(code) == [False]


def test_a_function_that_does_something_else_with_a_place():
    code = """
        def fetched(path, map_location=None):
            return read(path).to(map_location)

        def run(args):
            return fetched(args.weights)
    """
    assert brings_weights(code) == []


@pytest.mark.parametrize(("device", "found"), [("self.device = device", True), ("pass", False)])
def test_an_object_that_has_a_device_loads_what_should_be_there(device, found):
    code = f"""
        class Store:
            def __init__(self, device):
                {device}

            def fill(self, folder):
                self.rows = torch.load(folder + "/rows.bin")
    """
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("put", "found"),
    [("options['map_location'] = 'cpu'", []), ("options['weights_only'] = True", [True])],
)
def test_the_place_may_come_with_other_options(put, found):
    code = f"""
        def restored(net, path, on_host):
            options = {{}}
            if on_host:
                {put}
            net.load_state_dict(torch.load(path, **options))
    """
    assert brings_weights(code) == found


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("torch.set_rng_state(states[1])", False),
        ("torch.cuda.set_rng_state_all(states)", False),
        ("net.load_state_dict(states)", True),
    ],
)
def test_states_of_random_numbers_are_on_the_host(use, found):
    code = f"""
        def resume(net, folder):
            states = torch.load(os.path.join(folder, "model_states.pt"))
            {use}
    """
    assert brings_weights(code) == [found]


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("torch.from_numpy(torch.load(path))", False),
        ("torch.from_numpy(torch.load(path)[0])", False),
        ("torch.stack(torch.load(path))", True),
    ],
)
def test_what_is_taken_for_an_array_is_no_tensor(use, found):
    code = f"""
    class Trainer:
        def __init__(self, net, device):
            self.net = net.to(device)
            self.device = device

        def reload(self, path):
            self.net.weight.data.copy_({use})
    """
    assert brings_weights(code) == [found]
