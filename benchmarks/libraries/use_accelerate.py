"""A loop of accelerate's: prepared model, optimizer, loader and scheduler, gathered metrics."""

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    AcceleratorState._reset_state(reset_partial_state=True)  # a process asks once what it runs on
    accelerator = Accelerator()
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    loader = DataLoader(TensorDataset(torch.randn(16, 8), torch.randint(0, 3, (16,))), batch_size=4)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    losses, hits = [], []
    for x, y in loader:
        with accelerator.accumulate(model):
            scores = model(x)
            weight = torch.tensor([1.0, 2.0, 1.0], device=accelerator.device)
            loss = torch.nn.functional.cross_entropy(scores, y, weight=weight)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(loss.detach())
        right = torch.zeros(len(y), device=accelerator.device)
        right += scores.argmax(-1) == y
        hits.append(accelerator.gather_for_metrics(right))
    return [torch.stack(losses), torch.cat(hits)]
