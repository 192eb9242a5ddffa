"""A ResNet of torchvision's: transforms, training; boxes, a focal loss, a pyramid; nms, regions."""

import torch
import torchvision
from torchvision.transforms import v2


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=4).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    normalise = v2.Normalize([0.5] * 3, [0.2] * 3)
    losses = []
    for _ in range(2):
        images = normalise(torch.rand(2, 3, 64, 64).to(device))
        labels = torch.tensor([1, 3], device=device)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    boxes = torch.tensor([[0.0, 0, 16, 16], [1, 1, 17, 17], [30, 30, 60, 60]], device=device)
    other = torch.tensor([[0.0, 0, 32, 32]], device=device)
    overlap = torchvision.ops.generalized_box_iou(boxes, other)
    centres = torchvision.ops.box_convert(boxes, "xyxy", "cxcywh")
    scores = torch.tensor([0.9, -0.8, 0.7], device=device)
    truth = torch.tensor([1.0, 0.0, 1.0], device=device)
    focal = torchvision.ops.sigmoid_focal_loss(scores, truth)
    pyramid = torchvision.ops.FeaturePyramidNetwork([4, 8], 4).to(device)
    maps = {"0": torch.ones(1, 4, 8, 8, device=device), "1": torch.ones(1, 8, 4, 4, device=device)}
    kept = torchvision.ops.nms(boxes, truth, 0.5)
    maps["0"].requires_grad_()
    regions = torch.tensor([[0.0, 0, 0, 6, 6], [0.0, 1, 2, 7, 7]], device=device)
    aligned = torchvision.ops.roi_align(maps["0"], regions, (3, 3))
    pooled = torchvision.ops.roi_pool(maps["0"], regions, (3, 3))
    offsets = torch.rand(1, 18, 6, 6).to(device)
    kernel = torch.rand(4, 4, 3, 3).to(device)
    deformed = torchvision.ops.deform_conv2d(maps["0"], offsets, kernel)
    (aligned.sum() + pooled.sum() + deformed.square().sum()).backward()
    regional = [kept, aligned.detach(), deformed.detach(), maps["0"].grad]
    return [torch.stack(losses), overlap, centres, focal, pyramid(maps)["0"].detach(), *regional]
