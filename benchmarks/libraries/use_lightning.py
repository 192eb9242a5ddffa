"""A LightningModule through Trainer.fit and Trainer.validate."""

import logging
import warnings

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(6, 12), torch.nn.BatchNorm1d(12), torch.nn.Linear(12, 1)
        )
        self.register_buffer("scale", torch.full((1,), 0.5))
        self.losses = []

    def training_step(self, batch, index):
        x, y = batch
        noise = torch.ones(x.shape, device=self.device)
        weight = torch.linspace(0, 1, len(y), device=self.device)
        error = (self.layers(x + 0.01 * noise).squeeze(-1) * self.scale - y).square()
        loss = (error * weight).mean()
        self.losses.append(loss.detach())
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        target = torch.zeros(len(y), device=self.device)
        self.log("error", torch.dist(self.layers(x).squeeze(-1), target))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    for name in ("lightning", "lightning.pytorch"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    data = DataLoader(TensorDataset(torch.randn(16, 6), torch.randn(16)), batch_size=4)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(max_epochs=2, devices=1, enable_model_summary=False, **quiet)
    net = Net()
    trainer.fit(net, data)
    trainer.validate(net, data, verbose=False)
    return [torch.stack(net.losses), *(p.detach() for p in net.parameters())]
