"""A small vision transformer of timm's: mixup, label smoothing, averaged weights."""

import timm
import torch
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.utils import ModelEmaV3


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 2}
    model = timm.create_model("vit_tiny_patch16_224", num_classes=5, **sizes).to(device)
    average = ModelEmaV3(model, decay=0.9)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
    criterion = SoftTargetCrossEntropy().to(device)
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(3):
        images = torch.randn(4, 3, 32, 32, generator=generator).to(device)
        labels = torch.randint(0, 5, (4,), generator=generator).to(device)
        smooth = torch.full((4, 5), 0.02, device=device)
        soft = smooth + 0.9 * torch.nn.functional.one_hot(labels, 5)
        mean = torch.zeros(1, 3, 1, 1, device=device)
        loss = criterion(model(images - mean), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        losses.append(loss.detach())
    return [torch.stack(losses), average.module.eval()(images).detach()]
