"""Elements that differ from the others of their list, and functions mapped over a batch."""

import pytest
from given import met


def test_a_placeholder_of_a_list_belongs_beside_the_elements_that_replace_it():
    code = """
    def keep(scores: torch.Tensor):
        kept = [torch.zeros(0, 6)] * scores.shape[0]
        for i, row in enumerate(scores):
            order = row.argsort()
            kept[i] = row[order]
        return kept
    """
    assert met(code) == ["return: return kept@cpu return return kept@δ(scores) likely"]
    assert met(code.replace("zeros(0, 6)", "zeros(0, 6, device=scores.device)")) == []
    assert met(code.replace("torch.zeros(0, 6)", "None")) == []


@pytest.mark.parametrize("result", ["({}, i)", "dict(boxes={})"])
def test_the_parts_of_a_lists_elements_are_compared_part_by_part(result):
    code = f"""
    def boxes(x: torch.Tensor):
        found = []
        for i, row in enumerate(x):
            if row.numel():
                found.append({result.format("row * 2")})
            else:
                found.append({result.format("torch.zeros(0, 4)")})
        return found
    """
    assert met(code) == ["return: return found@cpu return return found@δ(x) likely"]
    assert met(code.replace("torch.zeros(0, 4)", "row.new_zeros(0, 4)")) == []


def test_a_function_mapped_over_a_batch_keeps_its_summary():
    code = """
    def whiten(weights: torch.Tensor, columns):
        basis = torch.Tensor(columns)
        def project(row):
            return basis @ row.reshape(-1)
        return torch.vmap(torch.vmap(project), 1)(weights)
    """
    found = met(code)
    assert [m.rpartition(" inside ")[2] for m in found] == ["basis @ row.reshape(-1)"]
    assert met(code.replace("(columns)", "(columns).to(weights.device)")) == []


def test_a_number_of_the_module_does_not_decide_where_a_tensor_is():
    code = """
    class Noise(nn.Module):
        def forward(self, wave):
            ratio = torch.rand(4, 1)
            ratio = ratio * (self.high - self.low) + self.low
            wave[:4] *= ratio
            return wave
    """
    assert met(code) == ["ratio@cpu *= wave[:4]@δ(wave) certain"]
    assert met(code.replace("rand(4, 1)", "rand(4, 1, device=wave.device)")) == []


def test_branches_of_one_value_stay_together_where_it_is_indexed():
    code = """
    def relabel(kinds: torch.Tensor = None, names=()):
        if kinds is None:
            kinds = torch.zeros(8, dtype=torch.long)
        index = torch.empty_like(kinds)
        for i, name in enumerate(names):
            rows = (kinds == i).nonzero().view(-1)
            index[rows] = {}
        return index
    """
    made = "torch.arange(len(rows))"
    assert met(code.format(made)) == [
        f"{made}@cpu index assignment index@δ(kinds) likely",
    ]
    assert met(code.format("torch.arange(len(rows), device=rows.device)")) == []


def test_a_callee_that_hands_on_to_others_decides_alike_for_all_elements_of_a_list():
    code = """
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)

        def encode(self, row):
            names = self.read(row)
            if isinstance(names[0], list):
                return self.of_lists(names)
            return self.of_names(row)

        def of_lists(self, names):
            return torch.zeros(len(names), 4)

        def of_names(self, row):
            return self.proj(row.cuda()).cuda()

        def forward(self, rows):
            found = []
            for row in rows:
                found.append({})
            return torch.stack(found)
    """
    for made in ("self.encode(row)", "self.encode(row) * 2"):
        assert not any("torch.stack" in meeting for meeting in met(code.format(made)))


def test_what_a_loop_decides_itself_may_differ_from_element_to_element():
    code = """
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)

        def forward(self, rows):
            found = []
            for row in rows:
                if row is None:
                    y = {}
                else:
                    y = self.proj(row)
                found.append(y)
            return torch.stack(found)
    """
    assert met(code.format("torch.zeros(4)")) == ["found@cpu torch.stack found@δ(self) certain"]
    assert met(code.format("torch.zeros(4, device=rows.device)")) == []
