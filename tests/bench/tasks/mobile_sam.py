"""MobileSAM (Zhang et al., arXiv:2306.14289), in its authors' names: the image's encoder, a TinyViT, and what answers a
prompt, Segment Anything's (Kirillov et al., arXiv:2304.02643)."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from .depth_anything import tree

SIDE, EMBEDDING = 1024, 256
WIDTHS, DEPTHS, HEADS, WINDOWS = (64, 128, 160, 320), (2, 2, 6, 2), (2, 4, 5, 10), (7, 7, 14, 7)


class ConvNorm(nn.Module):
    def __init__(self, inputs, outputs, kernel=1, stride=1, groups=1):
        super().__init__()
        self.c = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.bn(self.c(x))


class Bottleneck(nn.Module):
    """Of a pair of 1x1 convolutions around a depthwise one: the first stage's blocks, and the steps between stages."""

    def __init__(self, inputs, between, outputs, stride=1, residual=False):
        super().__init__()
        self.conv1 = ConvNorm(inputs, between)
        self.conv2 = ConvNorm(between, between, 3, stride, between)
        self.conv3 = ConvNorm(between, outputs)
        self.residual = residual

    def forward(self, x):
        y = self.conv3(F.gelu(self.conv2(F.gelu(self.conv1(x)))))
        return F.gelu(y + x) if self.residual else y


class Attention(nn.Module):
    def __init__(self, width, heads, side):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.attention_biases = nn.Parameter(torch.zeros(heads, side * side))
        place = torch.arange(side)
        distance = (place[:, None] - place).abs()
        self.distances = (distance[:, None, :, None] * side + distance[None, :, None, :]).reshape(side**2, side**2)

    def forward(self, x):
        windows, places, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(windows, places, self.heads, 3 * self.size).split(self.size, 3)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(2, 3) * self.size**-0.5 + self.attention_biases[:, self.distances]
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(windows, places, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(self.norm(x))))


class Block(nn.Module):
    def __init__(self, width, heads, side, window):
        super().__init__()
        self.side, self.window = side, window
        self.attn = Attention(width, heads, window)
        self.local_conv = ConvNorm(width, width, 3, groups=width)
        self.mlp = Mlp(width)

    def forward(self, x):
        side, window, width = self.side, self.window, x.shape[2]
        more = -side % window
        count = (side + more) // window
        y = F.pad(x.view(1, side, side, width), (0, 0, 0, more, 0, more))
        y = y.view(count, window, count, window, width).transpose(1, 2).reshape(-1, window * window, width)
        y = self.attn(y).view(count, count, window, window, width).transpose(1, 2).reshape(1, side + more, side + more, width)
        x = x + y[:, :side, :side].reshape(1, side * side, width)
        x = self.local_conv(x.transpose(1, 2).reshape(1, width, side, side)).flatten(2).transpose(1, 2)
        return x + self.mlp(x)


class MapNorm(nn.Module):
    """Over the channels of a map."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-6) * self.weight[:, None, None] + self.bias[:, None, None]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = tree(seq=nn.Sequential(ConvNorm(3, WIDTHS[0] // 2, 3, 2), nn.GELU(),
                                                  ConvNorm(WIDTHS[0] // 2, WIDTHS[0], 3, 2)))
        self.layers = nn.ModuleList()
        side = SIDE // 4
        for i, width in enumerate(WIDTHS):
            if i == 0:
                blocks = [Bottleneck(width, 4 * width, width, residual=True) for _ in range(DEPTHS[i])]
            else:
                blocks = [Block(width, HEADS[i], side, WINDOWS[i]) for _ in range(DEPTHS[i])]
            stage = tree(blocks=nn.ModuleList(blocks))
            if i + 1 < len(WIDTHS):
                stride = 2 if i < 2 else 1
                stage.downsample = Bottleneck(width, WIDTHS[i + 1], WIDTHS[i + 1], stride)
                side //= stride
            self.layers.append(stage)
        self.side = side
        self.norm_head = nn.LayerNorm(WIDTHS[-1])
        self.head = nn.Linear(WIDTHS[-1], 1000)
        self.neck = nn.Sequential(nn.Conv2d(WIDTHS[-1], EMBEDDING, 1, bias=False), MapNorm(EMBEDDING),
                                  nn.Conv2d(EMBEDDING, EMBEDDING, 3, padding=1, bias=False), MapNorm(EMBEDDING))

    def forward(self, image):
        x = self.patch_embed.seq(image)
        for i, stage in enumerate(self.layers):
            if i > 0:
                side = x.shape[2]
                x = x.flatten(2).transpose(1, 2)
            for block in stage.blocks:
                x = block(x)
            if i > 0:
                x = x.transpose(1, 2).reshape(1, -1, side, side)
            if i + 1 < len(self.layers):
                x = stage.downsample(x)
        return self.neck(x)


class PromptEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pe_layer = nn.Module()
        self.pe_layer.register_buffer("positional_encoding_gaussian_matrix", torch.randn(2, EMBEDDING // 2))
        self.point_embeddings = nn.ModuleList(nn.Embedding(1, EMBEDDING) for _ in range(4))
        self.not_a_point_embed = nn.Embedding(1, EMBEDDING)
        self.mask_downscaling = nn.Sequential(nn.Conv2d(1, 4, 2, 2), MapNorm(4), nn.GELU(), nn.Conv2d(4, 16, 2, 2),
                                              MapNorm(16), nn.GELU(), nn.Conv2d(16, EMBEDDING, 1))
        self.no_mask_embed = nn.Embedding(1, EMBEDDING)

    def place(self, coords):
        """Of coordinates on 0..1."""
        angles = (2 * coords - 1) @ self.pe_layer.positional_encoding_gaussian_matrix * 2 * math.pi
        return torch.cat([angles.sin(), angles.cos()], -1)

    def places(self, side):
        line = (torch.arange(side) + 0.5) / side
        grid = torch.stack([line.expand(side, side), line[:, None].expand(side, side)], -1)
        return self.place(grid).reshape(1, side * side, EMBEDDING)

    def forward(self, coords, labels, mask, has_mask):
        labels = labels[:, :, None]
        sparse = self.place((coords + 0.5) / SIDE) * (labels != -1) + self.not_a_point_embed.weight * (labels == -1)
        for i, kind in enumerate(self.point_embeddings):
            sparse = sparse + kind.weight * (labels == i)
        dense = has_mask * self.mask_downscaling(mask)
        return sparse, dense + (1 - has_mask) * self.no_mask_embed.weight.reshape(1, EMBEDDING, 1, 1)


class CrossAttention(nn.Module):
    HEADS = 8

    def __init__(self, inner):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(EMBEDDING, inner))
        self.out_proj = nn.Linear(inner, EMBEDDING)
        self.inner = inner

    def forward(self, q, k, v):
        size = self.inner // self.HEADS
        q, k, v = (project(t).reshape(1, -1, self.HEADS, size).transpose(1, 2)
                   for project, t in ((self.q_proj, q), (self.k_proj, k), (self.v_proj, v)))
        y = (q @ k.transpose(2, 3) / math.sqrt(size)).softmax(-1) @ v
        return self.out_proj(y.transpose(1, 2).reshape(1, -1, self.inner))


class TwoWayBlock(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first = first
        self.self_attn = CrossAttention(EMBEDDING)
        self.cross_attn_token_to_image = CrossAttention(EMBEDDING // 2)
        self.mlp = tree(lin1=nn.Linear(EMBEDDING, 2048), lin2=nn.Linear(2048, EMBEDDING))
        self.cross_attn_image_to_token = CrossAttention(EMBEDDING // 2)
        for i in range(4):
            setattr(self, f"norm{i + 1}", nn.LayerNorm(EMBEDDING))

    def forward(self, tokens, image, where, places):
        if self.first:
            tokens = self.self_attn(tokens, tokens, tokens)
        else:
            tokens = tokens + self.self_attn(tokens + where, tokens + where, tokens)
        tokens = self.norm1(tokens)
        tokens = self.norm2(tokens + self.cross_attn_token_to_image(tokens + where, image + places, image))
        tokens = self.norm3(tokens + self.mlp.lin2(F.relu(self.mlp.lin1(tokens))))
        seen = self.cross_attn_image_to_token(image + places, tokens + where, tokens)
        return tokens, self.norm4(image + seen)


class Perceptron(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(EMBEDDING, size) for size in (EMBEDDING, EMBEDDING, outputs))

    def forward(self, x):
        return self.layers[2](F.relu(self.layers[1](F.relu(self.layers[0](x)))))


class MaskDecoder(nn.Module):
    MASKS = 4

    def __init__(self):
        super().__init__()
        self.transformer = tree(layers=nn.ModuleList([TwoWayBlock(True), TwoWayBlock(False)]),
                                final_attn_token_to_image=CrossAttention(EMBEDDING // 2),
                                norm_final_attn=nn.LayerNorm(EMBEDDING))
        self.iou_token = nn.Embedding(1, EMBEDDING)
        self.mask_tokens = nn.Embedding(self.MASKS, EMBEDDING)
        self.output_upscaling = nn.Sequential(nn.ConvTranspose2d(EMBEDDING, 64, 2, 2), MapNorm(64), nn.GELU(),
                                              nn.ConvTranspose2d(64, 32, 2, 2), nn.GELU())
        self.output_hypernetworks_mlps = nn.ModuleList(Perceptron(32) for _ in range(self.MASKS))
        self.iou_prediction_head = Perceptron(self.MASKS)

    def forward(self, embedding, sparse, dense, places):
        side = embedding.shape[2]
        where = torch.cat([self.iou_token.weight[None], self.mask_tokens.weight[None], sparse], 1)
        tokens, image = where, (embedding + dense).flatten(2).transpose(1, 2)
        for block in self.transformer.layers:
            tokens, image = block(tokens, image, where, places)
        seen = self.transformer.final_attn_token_to_image(tokens + where, image + places, image)
        tokens = self.transformer.norm_final_attn(tokens + seen)
        maps = self.output_upscaling(image.transpose(1, 2).reshape(1, EMBEDDING, side, side))
        weights = torch.stack([m(tokens[:, 1 + i]) for i, m in enumerate(self.output_hypernetworks_mlps)], 1)
        logits = (weights @ maps.flatten(2)).reshape(1, self.MASKS, 4 * side, 4 * side)
        return logits, self.iou_prediction_head(tokens[:, 0])


class MobileSam(nn.Module):
    def __init__(self):
        super().__init__()
        self.image_encoder = Encoder()
        self.prompt_encoder = PromptEncoder()
        self.mask_decoder = MaskDecoder()

    def forward(self, image):
        return self.image_encoder(image)


class Prompt(nn.Module):
    """What runs for every prompt."""

    @torch.no_grad()
    def __init__(self, sam):
        super().__init__()
        self.sam = sam
        self.register_buffer("places", sam.prompt_encoder.places(SIDE // 16))

    def forward(self, image_embedding, point_coords, point_labels, mask_input, has_mask_input):
        encoder = self.sam.prompt_encoder
        sparse, dense = encoder(point_coords, point_labels, mask_input, has_mask_input)
        return self.sam.mask_decoder(image_embedding, sparse, dense, self.places)
