"""Depth Anything V2 small (Yang et al., arXiv:2406.09414), in transformers' names, for images of the size it was trained
with, whose table of positions fits."""
import torch
from torch import nn
from torch.nn import functional as F

WIDTH, DEPTH, HEADS, PATCH = 384, 12, 6, 14
LEVELS = (3, 6, 9, 12)
NECK, FUSION, HEAD = (48, 96, 192, 384), 64, 32


def tree(**modules):
    """A module that only holds others."""
    module = nn.Module()
    for name, value in modules.items():
        setattr(module, name, value)
    return module


class Embeddings(nn.Module):
    def __init__(self, side):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.mask_token = nn.Parameter(torch.zeros(1, WIDTH))
        self.position_embeddings = nn.Parameter(torch.zeros(1, 1 + (side // PATCH) ** 2, WIDTH))
        self.patch_embeddings = tree(projection=nn.Conv2d(3, WIDTH, PATCH, PATCH))

    def forward(self, image):
        tokens = self.patch_embeddings.projection(image).flatten(2).transpose(1, 2)
        return torch.cat([self.cls_token, tokens], 1) + self.position_embeddings


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH, 1e-6)
        self.attention = tree(
            attention=tree(**{name: nn.Linear(WIDTH, WIDTH) for name in ("query", "key", "value")}),
            output=tree(dense=nn.Linear(WIDTH, WIDTH)))
        self.layer_scale1 = tree(lambda1=nn.Parameter(torch.ones(WIDTH)))
        self.norm2 = nn.LayerNorm(WIDTH, 1e-6)
        self.mlp = tree(fc1=nn.Linear(WIDTH, 4 * WIDTH), fc2=nn.Linear(4 * WIDTH, WIDTH))
        self.layer_scale2 = tree(lambda1=nn.Parameter(torch.ones(WIDTH)))

    def attend(self, x):
        def heads(name):
            return getattr(self.attention.attention, name)(x).view(1, -1, HEADS, WIDTH // HEADS).transpose(1, 2)

        scores = heads("query") @ heads("key").transpose(2, 3) * (WIDTH // HEADS) ** -0.5
        y = (scores.softmax(-1) @ heads("value")).transpose(1, 2).reshape(1, -1, WIDTH)
        return self.attention.output.dense(y)

    def forward(self, x):
        x = x + self.attend(self.norm1(x)) * self.layer_scale1.lambda1
        return x + self.mlp.fc2(F.gelu(self.mlp.fc1(self.norm2(x)))) * self.layer_scale2.lambda1


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution1 = nn.Conv2d(FUSION, FUSION, 3, padding=1)
        self.convolution2 = nn.Conv2d(FUSION, FUSION, 3, padding=1)

    def forward(self, x):
        return x + self.convolution2(F.relu(self.convolution1(F.relu(x))))


def resize(x, size):
    return F.interpolate(x, size=size, mode="bilinear", align_corners=True)


class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.projection = nn.Conv2d(FUSION, FUSION, 1)
        self.residual_layer1 = Residual()
        self.residual_layer2 = Residual()

    def forward(self, x, level, size):
        if x is not None:
            level = x + self.residual_layer1(level)
        return self.projection(resize(self.residual_layer2(level), size))


def reassemble(width, factor):
    factors = {4: nn.ConvTranspose2d(width, width, 4, 4), 2: nn.ConvTranspose2d(width, width, 2, 2), 1: nn.Identity(),
               0.5: nn.Conv2d(width, width, 3, 2, 1)}
    return tree(projection=nn.Conv2d(WIDTH, width, 1), resize=factors[factor])


class DepthAnything(nn.Module):
    def __init__(self, side=518):
        super().__init__()
        self.side = side
        self.backbone = tree(embeddings=Embeddings(side), encoder=tree(layer=nn.ModuleList(Block() for _ in range(DEPTH))),
                             layernorm=nn.LayerNorm(WIDTH, 1e-6))
        self.neck = tree(
            reassemble_stage=tree(layers=nn.ModuleList(map(reassemble, NECK, (4, 2, 1, 0.5)))),
            convs=nn.ModuleList(nn.Conv2d(width, FUSION, 3, padding=1, bias=False) for width in NECK),
            fusion_stage=tree(layers=nn.ModuleList(Fusion() for _ in NECK)))
        self.head = tree(conv1=nn.Conv2d(FUSION, FUSION // 2, 3, padding=1),
                         conv2=nn.Conv2d(FUSION // 2, HEAD, 3, padding=1), conv3=nn.Conv2d(HEAD, 1, 1))

    def forward(self, image):
        x = self.backbone.embeddings(image)
        grid = self.side // PATCH
        levels = []
        for i, block in enumerate(self.backbone.encoder.layer):
            x = block(x)
            if i + 1 in LEVELS:
                stage = self.neck.reassemble_stage.layers[len(levels)]
                map_ = self.backbone.layernorm(x)[:, 1:].transpose(1, 2).reshape(1, WIDTH, grid, grid)
                levels.append(self.neck.convs[len(levels)](stage.resize(stage.projection(map_))))
        levels.reverse()
        x = None
        for i, level in enumerate(levels):
            after = levels[i + 1].shape[2:] if i + 1 < len(levels) else [2 * d for d in level.shape[2:]]
            x = self.neck.fusion_stage.layers[i](x, level, [int(d) for d in after])
        x = resize(self.head.conv1(x), (self.side, self.side))
        return F.relu(self.head.conv3(F.relu(self.head.conv2(x)))).squeeze(1)
