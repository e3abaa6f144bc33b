#!/usr/bin/env python3
"""Writes tests/data/onnx/detection/NAME/: small detectors of torchvision's classes as PyTorch exports them, post-processing
included, with two images and what PyTorch computes for them: several detections in one image, none in the other.

    make_detection.py OUT_DIR [NAME ...]

Needs Debian's python3-torch, python3-torchvision and python3-onnx.
"""
import os
import re
import sys
import warnings

import torch
from torch import nn
from torchvision.models import detection
from torchvision.models.detection import fcos, faster_rcnn, keypoint_rcnn, mask_rcnn, retinanet, ssd
from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
from torchvision.ops import MultiScaleRoIAlign

from make_exported import write_tensor

HEIGHT, WIDTH, CLASSES, CHANNELS = 64, 96, 4, 8
IMAGES = {"min_size": HEIGHT, "max_size": WIDTH}  # images of this size are not resized


class Backbone(nn.Module):
    """Feature maps of strides 4, 8 and so on."""

    def __init__(self, levels, channels=CHANNELS):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 4, 4)
        self.down = nn.ModuleList([nn.Conv2d(channels, channels, 3, 2, 1) for _ in range(levels - 1)])
        self.out_channels = channels

    def forward(self, x):
        maps = [torch.tanh(self.stem(x))]
        for conv in self.down:
            maps.append(torch.tanh(conv(maps[-1])))
        return {str(i): x for i, x in enumerate(maps)}


def rcnn(build, **options):
    anchors = AnchorGenerator(((8,), (20,)), ((0.5, 1.0, 2.0),) * 2)
    return build(Backbone(2), rpn_anchor_generator=anchors, rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=20,
                 box_roi_pool=MultiScaleRoIAlign(["0", "1"], 3, 2), box_detections_per_img=12, box_nms_thresh=0.4,
                 box_score_thresh=0.3, box_head=faster_rcnn.TwoMLPHead(CHANNELS * 9, 16),
                 box_predictor=faster_rcnn.FastRCNNPredictor(16, CLASSES), **IMAGES, **options)


def fasterrcnn():
    return rcnn(detection.FasterRCNN)


def maskrcnn():
    return rcnn(detection.MaskRCNN, mask_roi_pool=MultiScaleRoIAlign(["0", "1"], 4, 2),
                mask_head=mask_rcnn.MaskRCNNHeads(CHANNELS, (8,), 1),
                mask_predictor=mask_rcnn.MaskRCNNPredictor(8, 6, CLASSES))


def keypointrcnn():
    return rcnn(detection.KeypointRCNN, keypoint_roi_pool=MultiScaleRoIAlign(["0", "1"], 4, 2),
                keypoint_head=keypoint_rcnn.KeypointRCNNHeads(CHANNELS, (8,)),
                keypoint_predictor=keypoint_rcnn.KeypointRCNNPredictor(8, 5))


def dense(build, channels=CHANNELS, **options):
    return build(Backbone(2, channels), CLASSES, score_thresh=0.6, detections_per_img=20, topk_candidates=40, **IMAGES, **options)


def retinanet_():
    return dense(detection.RetinaNet, nms_thresh=0.4,
                 anchor_generator=AnchorGenerator(((8, 12), (20, 28)), ((0.5, 1.0, 2.0),) * 2))


def fcos_():
    return dense(detection.FCOS, 32, nms_thresh=0.4, head=fcos.FCOSHead(32, 1, CLASSES, 1),
                 anchor_generator=AnchorGenerator(((4,), (8,)), ((1.0,),) * 2))


def ssd_():
    backbone = Backbone(3)
    backbone.out_channels = [CHANNELS] * 3
    boxes = DefaultBoxGenerator([[2], [2, 3], [2]], scales=[0.1, 0.3, 0.6, 0.9])
    return ssd.SSD(backbone, boxes, (WIDTH, HEIGHT), CLASSES, score_thresh=0.3, nms_thresh=0.4,
                         detections_per_img=20, topk_candidates=40, image_mean=[0.5] * 3, image_std=[0.5] * 3)


NETWORKS = {"fasterrcnn": fasterrcnn, "maskrcnn": maskrcnn, "keypointrcnn": keypointrcnn, "retinanet": retinanet_,
            "fcos": fcos_, "ssd": ssd_}


def made(name):
    torch.manual_seed(0)
    model = NETWORKS[name]().eval()
    for key, parameter in model.named_parameters():
        if key.endswith("bias"):
            parameter.data.zero_()
        elif parameter.dim() > 1:
            nn.init.kaiming_normal_(parameter)
            if re.search("cls|class", key):
                parameter.data *= 1.5
            elif re.search("bbox|regression", key):
                parameter.data *= 0.5
    return model


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[2:] or NETWORKS:
        model = made(name)
        images = [torch.rand(3, HEIGHT, WIDTH),
                  torch.tensor(model.transform.image_mean)[:, None, None].expand(3, HEIGHT, WIDTH).contiguous()]
        for image in images:
            with torch.no_grad():
                found = model([image])[0]
            print(name, {k: tuple(v.shape) for k, v in found.items()}, found["scores"])
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        torch.onnx.export(model, ([images[0]],), os.path.join(folder, "model.onnx"), opset_version=11 if name != "fcos" else 16,
                          input_names=["image"], output_names=list(found))
        print(os.path.getsize(os.path.join(folder, "model.onnx")))


if __name__ == "__main__":
    main()
