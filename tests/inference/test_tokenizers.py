"""Who asks a tokenizer out of sight for tensors gets them on the host."""

import pytest
from given import met

ASK = """
    def ask(model, tokenizer, text, device):
        model.to(device)
        {batch}
        return {call}
"""


@pytest.mark.parametrize(
    ("batch", "call"),
    [
        ('batch = tokenizer(text, return_tensors="pt")', "model(**batch)"),
        ('ids = tokenizer(text, return_tensors="pt").input_ids', "model(ids)"),
        ('ids = tokenizer(text, return_tensors="pt")["input_ids"]', "model(ids)"),
        ('ids = tokenizer.encode(text, return_tensors="pt")', "model(ids)"),
        ('ids = tokenizer.encode(text, return_tensors="pt")', "model.generate(ids)"),
        ('batch = tokenizer(text, return_tensors="pt")', "model.generate(**batch)"),
    ],
)
def test_a_moved_model_gets_none_of_them(batch, call):
    (found,) = met(ASK.format(batch=batch, call=call))
    assert found.startswith("input: ") and "@cpu" in found


@pytest.mark.parametrize(
    "batch",
    [
        'batch = tokenizer(text, return_tensors="pt").to(device)',
        'batch = tokenizer(text, return_tensors="np")',
        'batch = tokenizer(text, return_tensors="pt", device=device)',
        'batch = {k: v.to(device) for k, v in tokenizer(text, return_tensors="pt").items()}',
    ],
)
def test_moved_batches_and_arrays_meet_nothing(batch):
    assert met(ASK.format(batch=batch, call="model(**batch)")) == []


@pytest.mark.parametrize(
    "inputs",
    [
        "**self.tokenizer(texts, return_tensors='pt')",
        "self.tokenizer(texts, return_tensors='pt').input_ids",
        "input_ids=self.tokenizer(texts, return_tensors='pt')['input_ids']",
    ],
)
def test_nobody_put_the_batch_of_a_modules_own_tokenizer_on_the_host_on_purpose(inputs):
    (found,) = met(f"""
    from transformers import AutoTokenizer, T5EncoderModel

    class Embedder(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.tokenizer = AutoTokenizer.from_pretrained(name)
            self.encoder = T5EncoderModel.from_pretrained(name)

        def forward(self, texts):
            return self.encoder({inputs})
    """)
    assert found.startswith("input: ") and found.endswith("certain")
