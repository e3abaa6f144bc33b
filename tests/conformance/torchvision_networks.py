"""torchvision's networks with random weights, as the conformance tests and the peer benchmark export them."""
from dataclasses import dataclass
from typing import Callable

import torch
import torchvision
from torch import nn

from make_exported import spread_batch_norms


class Segmentation(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.network = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None)

    def forward(self, x):
        return self.network(x)["out"]


class DetectionHeads(nn.Module):
    """Detection up to its post-processing: scores and boxes of every anchor."""

    def __init__(self, name):
        super().__init__()
        self.network = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None)

    def forward(self, x):
        heads = self.network.head(list(self.network.backbone(x).values()))
        return heads["cls_logits"], heads["bbox_regression"]


@dataclass
class Network:
    side: int  # of the square images it was trained for
    small_side: int  # another valid size, for quick tests
    build: Callable = lambda name, side: getattr(torchvision.models, name)(weights=None)


NETWORKS = {
    "resnet50": Network(224, 64),
    "mobilenet_v2": Network(224, 64),
    "mobilenet_v3_small": Network(224, 64),
    "efficientnet_b0": Network(224, 64),
    "convnext_tiny": Network(224, 64),
    "mobilenet_v3_large": Network(224, 64),
    "vit_s_16": Network(224, 48, lambda name, side: torchvision.models.VisionTransformer(
        image_size=side, patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536)),
    "vit_b_16": Network(224, 48, lambda name, side: torchvision.models.vit_b_16(weights=None, image_size=side)),
    "swin_t": Network(224, 96),
    "deeplabv3_mobilenet_v3_large": Network(520, 72, lambda name, side: Segmentation(name)),
    "lraspp_mobilenet_v3_large": Network(520, 72, lambda name, side: Segmentation(name)),
    "ssdlite320_mobilenet_v3_large": Network(320, 160, lambda name, side: DetectionHeads(name)),
}


def build(name, side):
    torch.manual_seed(0)
    model = NETWORKS[name].build(name, side).eval()
    spread_batch_norms(model)
    for parameter in model.parameters():  # vit_b_16's head begins as zeros, and so would all that comes out of it
        if parameter.dim() > 1 and not parameter.any():
            nn.init.normal_(parameter, std=0.02)
    return model
