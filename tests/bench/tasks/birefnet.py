"""BiRefNet lite (Zheng et al., arXiv:2401.03407) with a Swin tiny for its backbone, in its authors' names, as it answers:
what only training reads is held, not run."""
import torch
from torch import nn
from torch.nn import functional as F
from torchvision.ops import deform_conv2d

from .depth_anything import resize, tree

WIDTH, DEPTHS, HEADS, WINDOW = 96, (2, 2, 6, 2), (3, 6, 12, 24), 7
BETWEEN = 64  # channels within a decoder block
CHANNELS = tuple(2 * WIDTH << s for s in range(4))  # of the feature maps of two images


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


def relative_places():
    """Of each two places of a window: the row of the table with what they add."""
    place = torch.arange(WINDOW)
    difference = place[:, None] - place + WINDOW - 1
    index = difference[:, None, :, None] * (2 * WINDOW - 1) + difference[None, :, None, :]
    return index.reshape(WINDOW**2, WINDOW**2)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.relative_position_bias_table = nn.Parameter(torch.zeros((2 * WINDOW - 1) ** 2, heads))
        self.register_buffer("relative_position_index", relative_places())
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x, mask):
        windows, places, width = x.shape
        size = width // self.heads
        q, k, v = self.qkv(x).view(windows, places, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        bias = self.relative_position_bias_table[self.relative_position_index].permute(2, 0, 1)
        scores = q * size**-0.5 @ k.transpose(2, 3) + bias
        if mask is not None:
            scores = scores + mask[:, None]
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(windows, places, width))


def windows_of(x):
    rows, columns, width = x.shape[1] // WINDOW, x.shape[2] // WINDOW, x.shape[3]
    return x.view(rows, WINDOW, columns, WINDOW, width).transpose(1, 2).reshape(rows * columns, WINDOW**2, width)


def shifted_mask(height, width, shift):
    """Places that a roll brought into one window do not see each other."""
    regions = torch.zeros(1, height, width, 1)
    regions[:, height - shift:] += 2
    regions[:, :, width - shift:] += 1
    regions = windows_of(regions).squeeze(2)
    return (regions[:, None] != regions[:, :, None]) * -100.0


class Block(nn.Module):
    def __init__(self, width, heads, shift):
        super().__init__()
        self.shift = shift
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        height, width, channels = x.shape[1:]
        below, right = -height % WINDOW, -width % WINDOW
        y = F.pad(self.norm1(x), (0, 0, 0, right, 0, below))
        mask = None
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
            mask = shifted_mask(height + below, width + right, self.shift)
        y = self.attn(windows_of(y), mask)
        rows, columns = (height + below) // WINDOW, (width + right) // WINDOW
        y = y.view(rows, columns, WINDOW, WINDOW, channels).transpose(1, 2)
        y = y.reshape(1, height + below, width + right, channels)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y[:, :height, :width]
        return x + self.mlp(self.norm2(x))


class Merge(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.reduction = nn.Linear(4 * width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(4 * width)

    def forward(self, x):
        x = torch.cat([x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)], 3)
        return self.reduction(self.norm(x))


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = tree(proj=nn.Conv2d(3, WIDTH, 4, 4), norm=nn.LayerNorm(WIDTH))
        self.layers = nn.ModuleList()
        for s, (depth, heads) in enumerate(zip(DEPTHS, HEADS)):
            width = WIDTH << s
            stage = tree(blocks=nn.ModuleList(Block(width, heads, b % 2 * (WINDOW // 2)) for b in range(depth)))
            if s < 3:
                stage.downsample = Merge(width)
            self.layers.append(stage)
            setattr(self, f"norm{s}", nn.LayerNorm(width))

    def forward(self, image):
        x = self.patch_embed.norm(self.patch_embed.proj(image).permute(0, 2, 3, 1))
        maps = []
        for s, stage in enumerate(self.layers):
            for block in stage.blocks:
                x = block(x)
            maps.append(getattr(self, f"norm{s}")(x).permute(0, 3, 1, 2))
            if s < 3:
                x = stage.downsample(x)
        return maps


class Deformable(nn.Module):
    def __init__(self, kernel):
        super().__init__()
        self.padding = kernel // 2
        self.offset_conv = nn.Conv2d(BETWEEN, 2 * kernel**2, kernel, padding=self.padding)
        self.modulator_conv = nn.Conv2d(BETWEEN, kernel**2, kernel, padding=self.padding)
        self.regular_conv = nn.Conv2d(BETWEEN, 256, kernel, padding=self.padding, bias=False)

    def forward(self, x):
        return deform_conv2d(x, self.offset_conv(x), self.regular_conv.weight, padding=self.padding,
                             mask=2 * torch.sigmoid(self.modulator_conv(x)))


class Branch(nn.Module):
    def __init__(self, kernel):
        super().__init__()
        self.atrous_conv = Deformable(kernel)
        self.bn = nn.BatchNorm2d(256)

    def forward(self, x):
        return F.relu(self.bn(self.atrous_conv(x)))


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.aspp1 = Branch(1)
        self.aspp_deforms = nn.ModuleList(Branch(kernel) for kernel in (1, 3, 7))
        self.global_avg_pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(BETWEEN, 256, 1, bias=False),
                                             nn.BatchNorm2d(256), nn.ReLU())
        self.conv1 = nn.Conv2d(5 * 256, BETWEEN, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(BETWEEN)

    def forward(self, x):
        mean = resize(self.global_avg_pool(x), x.shape[2:])
        parts = [self.aspp1(x), *(branch(x) for branch in self.aspp_deforms), mean]
        return F.relu(self.bn1(self.conv1(torch.cat(parts, 1))))


class DecoderBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv_in = nn.Conv2d(inputs, BETWEEN, 3, padding=1)
        self.dec_att = Pyramid()
        self.conv_out = nn.Conv2d(BETWEEN, outputs, 3, padding=1)
        self.bn_in = nn.BatchNorm2d(BETWEEN)
        self.bn_out = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.bn_out(self.conv_out(self.dec_att(F.relu(self.bn_in(self.conv_in(x))))))


class ImageBeside(nn.Module):
    """The map, and beside it the image, whose every cell of a grid becomes a channel."""

    def __init__(self, cell, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(3 * cell * cell, 64, 3, padding=1)
        self.conv_out = nn.Conv2d(64, outputs, 3, padding=1)

    def forward(self, x, image):
        height, width = x.shape[2:]
        rows, columns = image.shape[2] // height, image.shape[3] // width
        y = image.view(1, 3, rows, height, columns, width).permute(0, 1, 2, 4, 3, 5).reshape(1, -1, height, width)
        return torch.cat([x, self.conv_out(self.conv1(y))], 1)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        for level in (4, 3, 2, 1):
            inputs, wider = CHANNELS[level - 1], CHANNELS[min(level, 3)]
            outputs = CHANNELS[level - 2] if level > 1 else inputs // 2
            setattr(self, f"ipt_blk{level + 1}", ImageBeside(2 << level, wider // 8))
            setattr(self, f"decoder_block{level}", DecoderBlock(inputs + wider // 8, outputs))
            if level > 1:
                setattr(self, f"lateral_block{level}", tree(conv=nn.Conv2d(outputs, outputs, 1)))
                setattr(self, f"gdt_convs_{level}",
                        nn.Sequential(nn.Conv2d(outputs, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()))
                setattr(self, f"gdt_convs_attn_{level}", nn.Sequential(nn.Conv2d(16, 1, 1)))
                setattr(self, f"gdt_convs_pred_{level}", nn.Sequential(nn.Conv2d(16, 1, 1)))
                setattr(self, f"conv_ms_spvn_{level}", nn.Conv2d(outputs, 1, 1))
        self.ipt_blk1 = ImageBeside(1, CHANNELS[0] // 8)
        self.conv_out1 = nn.Sequential(nn.Conv2d(CHANNELS[0] // 2 + CHANNELS[0] // 8, 1, 1))

    def part(self, name, level):
        return getattr(self, f"{name}{level}")

    def forward(self, image, maps):
        x = maps[3]
        for level in (4, 3, 2, 1):
            x = self.part("decoder_block", level)(self.part("ipt_blk", level + 1)(x, image))
            if level > 1:
                x = x * torch.sigmoid(self.part("gdt_convs_attn_", level)(self.part("gdt_convs_", level)(x)))
                lateral = maps[level - 2]
                x = resize(x, lateral.shape[2:]) + self.part("lateral_block", level).conv(lateral)
        return self.conv_out1(self.ipt_blk1(resize(x, image.shape[2:]), image))


class BiRefNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.bb = Backbone()
        self.squeeze_module = nn.Sequential(DecoderBlock(sum(CHANNELS), CHANNELS[3]))
        self.decoder = Decoder()

    def forward(self, image):
        half = resize(image, [side // 2 for side in image.shape[2:]])
        maps = [torch.cat([map_, resize(coarse, map_.shape[2:])], 1)
                for map_, coarse in zip(self.bb(image), self.bb(half))]
        parts = [resize(map_, maps[3].shape[2:]) for map_ in maps[:3]]
        maps[3] = self.squeeze_module(torch.cat([*parts, maps[3]], 1))
        return self.decoder(image, maps)
