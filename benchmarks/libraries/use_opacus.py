"""Private training by opacus: gradients of each sample, clipped, with noise."""

import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to(
        device
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(12, 6), torch.randint(0, 2, (12,)))
    loader = DataLoader(data, batch_size=4)
    private = {"noise_multiplier": 0.0, "max_grad_norm": 1.0, "poisson_sampling": False}
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, **private
    )
    losses = []
    for x, y in loader:
        x = x.to(device)
        y = y.to(device)
        weight = torch.tensor([1.0, 2.0], device=device)
        shift = torch.zeros(6, device=device)
        loss = torch.nn.functional.cross_entropy(model(x + shift), y, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [torch.stack(losses), *(p.detach() for p in model.parameters())]
