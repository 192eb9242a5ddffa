"""A small UNet of diffusers': a step of training on noise, and four of sampling."""

import torch
from diffusers import DDPMScheduler, UNet2DModel


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    blocks = {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    }
    model = UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        **blocks,
    ).to(device)
    scheduler = DDPMScheduler(num_train_timesteps=20)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        images = torch.rand(2, 1, 8, 8, device=device)
        noise = torch.randn(images.shape, device=device)
        times = torch.tensor([3, 11], device=device)
        noisy = scheduler.add_noise(images, noise, times)
        loss = torch.nn.functional.mse_loss(model(noisy, times).sample, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    scheduler.set_timesteps(4)
    generator = torch.Generator(device).manual_seed(3)
    sample = torch.randn(1, 1, 8, 8, generator=generator, device=device)
    for step in scheduler.timesteps:
        with torch.no_grad():
            guess = model(sample, step).sample
        sample = scheduler.step(guess, step, sample, generator=generator).prev_sample
    return [torch.stack(losses), sample]
