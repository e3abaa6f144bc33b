#include "models/zoo.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "converter/error.h"

namespace ferry {
namespace {

// One file of a publisher.
struct Served {
  const char* name;         // below the publisher's
  double megabytes;         // of the file, rounded: as the publisher says, or its parameters as float32
  const char* file;         // below the publisher's address
  const char* sha256 = "";  // empty: the digits that the file's name ends in, NAME-DIGITS.pth
  const char* model = "";   // the variant; empty: PUBLISHER/NAME is one
  const char* input = "";   // of an ONNX file, which is no variant
};

// From `url` in torchvision's source; torch.hub checks the digits in the names. Whole SHA-256s were recorded by users
// of the files. Some EfficientNets once had other digits in their names (pytorch/vision#7744).
constexpr Served kTorchvision[] = {
    {"resnet18.v1", 47, "resnet18-f37072fd.pth", "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec"},
    {"resnet34.v1", 87, "resnet34-b627a593.pth", "b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f"},
    {"resnet50.v2", 103, "resnet50-11ad3fa6.pth"},
    {"resnet50.v1", 103, "resnet50-0676ba61.pth", "0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a"},
    {"resnet101.v2", 179, "resnet101-cd907fc2.pth"},
    {"resnet101.v1", 179, "resnet101-63fe2227.pth"},
    {"resnet152.v2", 242, "resnet152-f82ba261.pth"},
    {"resnet152.v1", 242, "resnet152-394f9c45.pth"},
    {"mobilenet_v2.v2", 14, "mobilenet_v2-7ebf99e0.pth",
     "7ebf99e03e254b273379b23edca7ec0da9f48273b23a332b93c1c99d49e86e8f"},
    {"mobilenet_v2.v1", 14, "mobilenet_v2-b0353104.pth"},
    {"mobilenet_v3_large.v2", 22, "mobilenet_v3_large-5c1a4163.pth"},
    {"mobilenet_v3_large.v1", 22, "mobilenet_v3_large-8738ca79.pth",
     "8738ca797c879b547d18bbd15da5736ff2557b2036a9af72225393ca61759a04"},
    {"mobilenet_v3_small.v1", 10, "mobilenet_v3_small-047dcff4.pth",
     "047dcff4addef86ea5bc2eff13c9614dc11f47ab1160d0a71a25e7db994f4e1f"},
    {"efficientnet_b0.v1", 21, "efficientnet_b0_rwightman-7f5810bc.pth",
     "7f5810bc96def8f7552d5b7e68d53c4786f81167d28291b21c0d90e1fca14934"},
    {"efficientnet_b1.v2", 32, "efficientnet_b1-c27df63c.pth"},
    {"efficientnet_b2.v1", 37, "efficientnet_b2_rwightman-c35c1473.pth",
     "c35c147384e385a5bab5a8eabdabbe5a3df0487ee4a554108626ae474a5bf755"},
    {"efficientnet_b3.v1", 49, "efficientnet_b3_rwightman-b3899882.pth",
     "b3899882250c22946d0229d266049fcd133c169233530b36b9ffa7983988362f"},
    {"efficientnet_b4.v1", 78, "efficientnet_b4_rwightman-23ab8bcd.pth",
     "23ab8bcd5bdbef61a7a43b91adcad81f622fd7f36fb4935a569828d77888c44e"},
    {"swin_t.v1", 113, "swin_t-704ceda3.pth", "704ceda373461b0a224fcdddd75cd2a5e9f8064512ed47adbddef7f343fd147b"},
    {"squeezenet1_1.v1", 5.0, "squeezenet1_1-b8a52dc0.pth",
     "b8a52dc049b60e4b6ab68ad0df457362afab8b6304b2febdc1650a5dab4d7e7b"},
};

constexpr Served kTorchvisionSegmentation[] = {
    {"deeplabv3_resnet50.coco_with_voc_labels_v1", 168, "deeplabv3_resnet50_coco-cd0a2569.pth",
     "cd0a25694c4a0f7106b38f4938bf90a874f2f241cc410b8f63c7024399538f06"},
    {"deeplabv3_mobilenet_v3_large.coco_with_voc_labels_v1", 44, "deeplabv3_mobilenet_v3_large-fc3c493d.pth",
     "fc3c493d68e89cc31ef488c803d5d7dd2f3190fb570598faa49fef69be8e5e70"},
    {"fcn_resnet50.coco_with_voc_labels_v1", 142, "fcn_resnet50_coco-1167a1af.pth",
     "1167a1affa42e1e62858f8d3fac12d109e0108327ffc91c5855a324b11683c36"},
    {"lraspp_mobilenet_v3_large.coco_with_voc_labels_v1", 13, "lraspp_mobilenet_v3_large-d234d4ea.pth",
     "d234d4eae9d55d5f76de18b77cf0dc62c66fe5c5482758209d00f950c92bb280"},
};

// timm's own trainings, from `url` of their configurations; timm's clean_checkpoint.py puts the first digits of the
// SHA-256 into the names.
constexpr Served kTimm[] = {
    {"resnet18.a1_in1k", 47, "v0.1-rsb-weights/resnet18_a1_0-d63eafa0.pth"},
    {"resnet34.a1_in1k", 87, "v0.1-rsb-weights/resnet34_a1_0-46f8f793.pth"},
    {"resnet50.a1_in1k", 102, "v0.1-rsb-weights/resnet50_a1_0-14fe96d1.pth"},
    {"resnet101.a1h_in1k", 179, "v0.1-rsb-weights/resnet101_a1h-36d3f2aa.pth"},
    {"resnet152.a1h_in1k", 242, "v0.1-rsb-weights/resnet152_a1h-dc400468.pth"},
    {"resnet50d.ra2_in1k", 103, "v0.1-weights/resnet50d_ra2-464e36ba.pth"},
    {"seresnet50.ra2_in1k", 113, "v0.1-weights/seresnet50_ra_224-8efdb4bb.pth"},
    {"mobilenetv2_100.ra_in1k", 14, "v0.1-weights/mobilenetv2_100_ra-b33bc2c4.pth"},
    {"mobilenetv2_140.ra_in1k", 25, "v0.1-weights/mobilenetv2_140_ra-21a4e913.pth"},
    {"mobilenetv3_large_100.ra_in1k", 22, "v0.1-weights/mobilenetv3_large_100_ra-f55367f5.pth"},
    {"mobilenetv3_small_100.lamb_in1k", 10, "v0.1-weights/mobilenetv3_small_100_lamb-266a294c.pth"},
    {"efficientnet_b0.ra_in1k", 21, "v0.1-weights/efficientnet_b0_ra-3dd342df.pth",
     "3dd342dfa1fee25ae65e7bbdf8998cad6e45d6e77e69d580f0bd14d3eeb0b3f3"},
    {"efficientnet_lite0.ra_in1k", 19, "v0.1-weights/efficientnet_lite0_ra-37913777.pth"},
    {"convnext_atto.d2_in1k", 15, "v0.1-rsb-weights/convnext_atto_d2-01bb0f51.pth"},
    {"convnext_pico.d1_in1k", 36, "v0.1-rsb-weights/convnext_pico_d1-10ad7f0d.pth"},
    {"convnext_nano.d1h_in1k", 62, "v0.1-rsb-weights/convnext_nano_d1h-7eb4bdea.pth"},
    {"coatnet_nano_rw_224.sw_in1k", 61, "v0.1-weights-maxx/coatnet_nano_rw_224_sw-f53093b4.pth"},
};

constexpr Served kRealEsrgan[] = {
    {"realesrgan_x4plus", 67, "v0.1.0/RealESRGAN_x4plus.pth",
     "4fa0d38905f75ac06eb49a7951b426670021be3018265fd191d2125df9d682f1", "realesrgan_x4plus"},
    {"realesrgan_x2plus", 67, "v0.2.1/RealESRGAN_x2plus.pth",
     "49fafd45f8fd7aa8d31ab2a22d14d91b536c34494a5cfe31eb5d89c2fa266abb", "realesrgan_x2plus"},
    {"realesrgan_x4plus_anime_6b", 18, "v0.2.2.4/RealESRGAN_x4plus_anime_6B.pth",
     "f872d837d3c90ed2e05227bed711af5671a6fd1c9f7d7e91c911a61f155e99da", "realesrgan_x4plus_anime_6b"},
    {"realesr_animevideov3", 2.5, "v0.2.5.0/realesr-animevideov3.pth",
     "b8a8376811077954d82ca3fcf476f1ac3da3e8a68a4f4d71363008000a18b75d", "realesr_animevideov3"},
    {"realesr_general_x4v3", 4.9, "v0.2.5.0/realesr-general-x4v3.pth",
     "8dc7edb9ac80ccdc30c3a5dca6616509367f05fbc184ad95b731f05bece96292", "realesr_general_x4v3"},
};

constexpr Served kSam[] = {{"sam_vit_b", 375, "sam_vit_b_01ec64.pth",
                            "ec2df62732614e57411cdcf32a23ffdf28910380d03139ee0f4fcbe91eb8c912",
                            "facebookresearch/sam_vit_b"}};

constexpr Served kMobileSam[] = {{"mobile_sam", 41, "weights/mobile_sam.pt",
                                  "6dbb90523a35330fedd7f1d3dfc66f995213d81b29a5ca8108dbcdd4e37d6c2f", "mobile_sam"}};

constexpr Served kDinov2[] = {
    {"dinov2_small", 88, "dinov2_vits14/dinov2_vits14_pretrain.pth",
     "b938bf1bc15cd2ec0feacfe3a1bb553fe8ea9ca46a7e1d8d00217f29aef60cd9", "facebookresearch/dinov2_small"},
    {"dinov2_base", 346, "dinov2_vitb14/dinov2_vitb14_pretrain.pth",
     "0b8b82f85de91b424aded121c7e1dcc2b7bc6d0adeea651bf73a13307fad8c73", "facebookresearch/dinov2_base"},
    {"dinov2_with_registers_small", 88, "dinov2_vits14/dinov2_vits14_reg4_pretrain.pth",
     "f433177089a681826f849f194ece3bb48f4d63fb38d32fc837e3dc7a4e5641fb",
     "facebookresearch/dinov2_with_registers_small"},
};

constexpr Served kDepthAnything[] = {{"depth_anything_v2_vits", 99, "depth_anything_v2_vits.pth",
                                      "715fade13be8f229f8a70cc02066f656f2423a59effd0579197bbf57860e1378",
                                      "DepthAnything/depth_anything_v2_vits"}};

// ONNX files, each tested on a photograph with faces. The hashes are of the repository's files at that commit; for
// YuNet, of the Git LFS object, which its authors' repository has as well.
constexpr Served kUltraFace[] = {
    {"version-RFB-320", 1.3, "version-RFB-320.onnx", "34cd7e60aeff28744c657de7a3dc64e872d506741de66987f3426f2b79f88017",
     "", "240x320"},
    {"version-RFB-640", 1.6, "version-RFB-640.onnx", "8f4c659275977e7a3bfbfa339a9c769ad793df50f9c0baa8c14b11baa1646430",
     "", "480x640"},
    {"version-slim-320", 1.0, "version-slim-320.onnx",
     "e9adbd0f920ddcce9368434c4d34d72520dc0c19b526fd44b4ef49bde2c3b1a8", "", "240x320"},
};

constexpr Served kYuNet[] = {
    {"face_detection_yunet_2023mar", 0.2, "face_detection_yunet_2023mar.onnx",
     "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4", "", "640x640"},
};

struct Publisher {
  const char* name;
  const char* address;
  const char* revision;  // of all files; empty: none, or the folder of each file
  const char* licence;
  const char* task;
  std::span<const Served> files;
};

const Publisher kPublishers[] = {
    {"torchvision", "https://download.pytorch.org/models/", "", "BSD-3-Clause", "classification", kTorchvision},
    {"torchvision", "https://download.pytorch.org/models/", "", "BSD-3-Clause", "semantic segmentation",
     kTorchvisionSegmentation},
    {"timm", "https://github.com/huggingface/pytorch-image-models/releases/download/", "", "Apache-2.0",
     "classification", kTimm},
    {"xinntao", "https://github.com/xinntao/Real-ESRGAN/releases/download/", "", "BSD-3-Clause", "image to image",
     kRealEsrgan},
    {"facebookresearch", "https://dl.fbaipublicfiles.com/segment_anything/", "", "Apache-2.0",
     "segmentation by prompts", kSam},
    {"ChaoningZhang",
     "https://raw.githubusercontent.com/ChaoningZhang/MobileSAM/f706ad9c4eb7f219c00d9050e46328518ffb65d2/",
     "f706ad9c4eb7f219c00d9050e46328518ffb65d2", "Apache-2.0", "segmentation by prompts", kMobileSam},
    {"facebookresearch", "https://dl.fbaipublicfiles.com/dinov2/", "", "Apache-2.0", "embedding", kDinov2},
    {"depth-anything",
     "https://huggingface.co/depth-anything/Depth-Anything-V2-Small/resolve/03876f8651c73a60fe4c2c48294e09fcb6838fcf/",
     "03876f8651c73a60fe4c2c48294e09fcb6838fcf", "Apache-2.0", "depth", kDepthAnything},
    {"Linzaer",
     "https://raw.githubusercontent.com/Linzaer/Ultra-Light-Fast-Generic-Face-Detector-1MB/"
     "dffdddda9794a50607cba8f318507a28c1c27cab/models/onnx/",
     "dffdddda9794a50607cba8f318507a28c1c27cab", "MIT", "detection", kUltraFace},
    {"opencv",
     "https://media.githubusercontent.com/media/opencv/opencv_zoo/966be4cb6eefc2a4f586ed0581bf4bbaa2533070/"
     "models/face_detection_yunet/",
     "966be4cb6eefc2a4f586ed0581bf4bbaa2533070", "MIT", "detection", kYuNet},
};

ZooEntry entry_of(Families families, const Publisher& publisher, const Served& file) {
  ZooEntry entry{.name = std::string(publisher.name) + "/" + file.name,
                 .model = file.model,
                 .url = std::string(publisher.address) + file.file,
                 .revision = publisher.revision,
                 .sha256 = file.sha256,
                 .licence = publisher.licence,
                 .task = publisher.task,
                 .input = file.input,
                 .megabytes = file.megabytes};
  const std::string path = file.file;
  if (const size_t slash = path.find('/'); entry.revision.empty() && slash != path.npos && path.starts_with("v"))
    entry.revision = path.substr(0, slash);
  if (entry.sha256.empty()) entry.sha256 = path.substr(path.rfind('-') + 1, path.rfind('.') - path.rfind('-') - 1);
  if (!entry.input.empty()) return entry;
  if (entry.model.empty()) entry.model = entry.name;
  for (const Family* family : families)
    for (const Variant* variant : family->variants())
      if (variant->is_called(entry.model, true)) {
        entry.input = family->describe(*variant).input;
        return entry;
      }
  fail("%s: no variant is called %s", entry.name.c_str(), entry.model.c_str());
}

}  // namespace

std::vector<ZooEntry> zoo(Families families) {
  std::vector<ZooEntry> out;
  for (const Publisher& publisher : kPublishers)
    for (const Served& file : publisher.files) out.push_back(entry_of(families, publisher, file));
  return out;
}

}  // namespace ferry
