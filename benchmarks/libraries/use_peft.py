"""LoRA on a small GPT-2: training of the adapters, merged weights."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    base = GPT2LMHeadModel(
        GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2)
    )
    lora = LoraConfig(r=2, lora_alpha=4, target_modules=["c_attn"], fan_in_fan_out=True)
    model = get_peft_model(base, lora).to(device)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    tokens = torch.arange(24).reshape(2, 12).to(device)
    losses = []
    for _ in range(3):
        positions = torch.arange(12, device=device)
        loss = model(input_ids=tokens, position_ids=positions[None], labels=tokens).loss
        penalty = torch.zeros(1, device=device)
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                penalty = penalty + parameter.square().sum()
        (loss + 0.01 * penalty.squeeze(0)).backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    merged = model.merge_and_unload()
    return [torch.stack(losses), merged(input_ids=tokens).logits.detach()]
