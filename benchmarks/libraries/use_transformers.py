"""GPT-2 from a configuration: four steps of training, a loss in evaluation, beam search."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel


def batches(device):
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        yield torch.randint(0, 50, (2, 12), generator=generator).to(device)


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2)
    config.bos_token_id = config.eos_token_id = config.pad_token_id = 0
    model = GPT2LMHeadModel(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for tokens in batches(device):
        mask = torch.ones(tokens.shape, dtype=torch.long, device=device)
        logits = model(input_ids=tokens, attention_mask=mask).logits
        targets = tokens[:, 1:].reshape(-1)
        weight = torch.ones(50, device=device)
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, 50), targets, weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    model.eval()
    prompt = torch.tensor([[1, 2, 3]], device=device)
    answer = model.generate(prompt, max_new_tokens=6, num_beams=3, do_sample=False)
    return [torch.stack(losses), answer]
