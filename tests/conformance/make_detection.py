#!/usr/bin/env python3
"""Writes tests/data/onnx/detection/NAME/: small detectors of torchvision's classes as PyTorch exports them, resizing and
post-processing included, with two images and what PyTorch computes for them. In the second image nothing is detected.

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
from torchvision.models.detection import faster_rcnn, fcos, keypoint_rcnn, mask_rcnn, ssd
from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
from torchvision.ops import MultiScaleRoIAlign

from make_exported import write_tensor

HEIGHT, WIDTH, CLASSES, CHANNELS = 40, 56, 4, 8
RESIZED = {"min_size": 48, "max_size": 90}


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


def rcnn(build, score_thresh, **heads):
    anchors = AnchorGenerator(((8,), (20,)), ((0.5, 1.0, 2.0),) * 2)
    return build(Backbone(2), rpn_anchor_generator=anchors, rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=20,
                 box_roi_pool=MultiScaleRoIAlign(["0", "1"], 3, 2), box_head=faster_rcnn.TwoMLPHead(CHANNELS * 9, 16),
                 box_predictor=faster_rcnn.FastRCNNPredictor(16, CLASSES), box_detections_per_img=12,
                 box_nms_thresh=0.4, box_score_thresh=score_thresh, **RESIZED, **heads)


def maskrcnn():
    return rcnn(detection.MaskRCNN, 0.42, mask_roi_pool=MultiScaleRoIAlign(["0", "1"], 4, 2),
                mask_head=mask_rcnn.MaskRCNNHeads(CHANNELS, (8,), 1),
                mask_predictor=mask_rcnn.MaskRCNNPredictor(8, 6, CLASSES))


def keypointrcnn():
    return rcnn(detection.KeypointRCNN, 0.42, keypoint_roi_pool=MultiScaleRoIAlign(["0", "1"], 4, 2),
                keypoint_head=keypoint_rcnn.KeypointRCNNHeads(CHANNELS, (8,)),
                keypoint_predictor=keypoint_rcnn.KeypointRCNNPredictor(8, 5))


def dense(build, channels=CHANNELS, **options):
    return build(Backbone(2, channels), CLASSES, nms_thresh=0.2, detections_per_img=40, topk_candidates=40, **RESIZED,
                 **options)


def retinanet():
    return dense(detection.RetinaNet, score_thresh=0.65,
                 anchor_generator=AnchorGenerator(((8, 12), (20, 28)), ((0.5, 1.0, 2.0),) * 2))


def fcos_():
    return dense(detection.FCOS, 32, score_thresh=0.87, head=fcos.FCOSHead(32, 1, CLASSES, 1),
                 anchor_generator=AnchorGenerator(((4,), (8,)), ((1.0,),) * 2))


def ssd_():
    backbone = Backbone(3)
    backbone.out_channels = [CHANNELS] * 3
    boxes = DefaultBoxGenerator([[2], [2, 3], [2]], scales=[0.1, 0.3, 0.6, 0.9])
    return ssd.SSD(backbone, boxes, (72, 48), CLASSES, score_thresh=0.9, nms_thresh=0.2, detections_per_img=40,
                   topk_candidates=40, image_mean=[0.5] * 3, image_std=[0.25] * 3)


# By name: the network, and the opset.
NETWORKS = {"fasterrcnn": (lambda: rcnn(detection.FasterRCNN, 0.4), 13), "maskrcnn": (maskrcnn, 11),
            "keypointrcnn": (keypointrcnn, 15), "retinanet": (retinanet, 14), "fcos": (fcos_, 16), "ssd": (ssd_, 12)}


def made(name):
    """Without biases, everything is 0 for the mean image, and all classes are equally likely."""
    torch.manual_seed(0)
    model = NETWORKS[name][0]().eval()
    for key, parameter in model.named_parameters():
        if key.endswith("bias"):
            parameter.data.zero_()
        elif parameter.dim() > 1:
            nn.init.kaiming_normal_(parameter)
            if re.search("bbox|regression", key):
                parameter.data *= 0.5
            elif re.search("cls|class", key) and name != "retinanet":
                parameter.data *= 1.5
    return model


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[2:] or NETWORKS:
        model = made(name)
        folder = os.path.join(sys.argv[1], name)
        mean = torch.tensor(model.transform.image_mean)[:, None, None].expand(3, HEIGHT, WIDTH).contiguous()
        for i, image in enumerate([torch.rand(3, HEIGHT, WIDTH), mean]):
            with torch.no_grad():
                found = model([image])[0]
            print(name, *(tuple(value.shape) for value in found.values()), found["scores"][-1:])
            data = os.path.join(folder, "test_data_set_%d" % i)
            os.makedirs(data, exist_ok=True)
            write_tensor(os.path.join(data, "input_0.pb"), image, "image")
            for k, (key, value) in enumerate(found.items()):
                write_tensor(os.path.join(data, "output_%d.pb" % k), value, key)
        torch.onnx.export(model, ([image],), os.path.join(folder, "model.onnx"), opset_version=NETWORKS[name][1],
                          input_names=["image"], output_names=list(found))


if __name__ == "__main__":
    main()
