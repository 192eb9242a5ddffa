"""An exact Gaussian process of gpytorch's: five steps on the likelihood, and a prediction."""

import gpytorch
import torch


class Process(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        drift = torch.zeros(x.shape[0], device=x.device)
        return gpytorch.distributions.MultivariateNormal(self.mean(x) + drift, self.kernel(x))


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 10, device=device)
    y = torch.sin(6 * x).to(device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
    model = Process(x, y, likelihood).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    model.eval(), likelihood.eval()
    points = torch.linspace(0, 1, 4, device=device)
    with torch.no_grad():
        predicted = likelihood(model(points)).mean
    return [torch.stack(losses), predicted]
