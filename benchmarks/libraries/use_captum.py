"""Attributions of captum's: integrated gradients, an ablation, layers."""

import torch
from captum.attr import FeatureAblation, IntegratedGradients, LayerActivation


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    model = model.to(device).eval()
    x = torch.randn(2, 4).to(device)
    base = torch.zeros(2, 4, device=device)
    gradients, delta = IntegratedGradients(model).attribute(
        x, base, target=1, n_steps=8, return_convergence_delta=True
    )
    groups = torch.tensor([[0, 0, 1, 1]], device=device)
    ablated = FeatureAblation(model).attribute(x, target=0, feature_mask=groups)
    active = LayerActivation(model, model[0]).attribute(x)
    weight = torch.ones(4, device=device)
    return [(gradients * weight).detach(), delta, ablated.detach(), active.detach()]
