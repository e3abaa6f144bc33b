#include <initializer_list>

#include "models/vision/birefnet/birefnet.h"

namespace ferry::birefnet {
namespace {

// The reference runs the decoder twice, so each module has two records; the backbone runs on two images each time and
// has four.
std::vector<Rename> taps() {
  std::vector<Rename> rules;
  const auto record = [&](const std::string& module, const std::string& source, int calls) {
    rules.push_back({module, {source, source + "#" + std::to_string(calls)}});
  };
  const std::string block = "bb.layers.{s}.blocks.{b}";
  for (const char* module : {"bb", "bb.patch_embed", "bb.layers.{s}"}) record(module, module, 2);
  // The reference has these as tokens.
  for (const std::string& module : {block, std::string("bb.layers.{s}.downsample"), std::string("bb.norm{s}")}) {
    rules.push_back({module, {}});
    record(module + ".tokens", module, 2);
  }
  for (const char* module : {"bb.patch_embed.norm", "bb.layers.{s}.downsample.reduction"})
    rules.push_back({module, {}});
  for (const char* module : {".norm1", ".drop_path1", ".drop_path2", ".attn.softmax"})
    rules.push_back({block + module, {}});

  for (const std::string root : {"squeeze_module.{i}", "decoder.decoder_block{i}"}) {
    for (const char* module :
         {"", ".conv_in", ".bn_in", ".relu_in", ".dec_att", ".dec_att.global_avg_pool", ".dec_att.conv1",
          ".dec_att.bn1", ".dec_att.aspp1", ".dec_att.aspp_deforms.{k}", ".conv_out", ".bn_out"})
      record(root + module, root + module, 1);
    // Taps of the deformable module. The convolution inside only provides its weight.
    for (const char* branch : {".dec_att.aspp1", ".dec_att.aspp_deforms.{k}"}) {
      const std::string deformable = root + branch + ".atrous_conv";
      record(deformable + ".regular_conv", deformable, 1);
    }
  }
  for (const char* module :
       {"squeeze_module", "decoder.ipt_blk{i}", "decoder.ipt_blk{i}.conv1", "decoder.ipt_blk{i}.conv_out",
        "decoder.gdt_convs_{i}", "decoder.gdt_convs_attn_{i}", "decoder.lateral_block{i}", "decoder.conv_out{i}"})
    record(module, module, 1);
  return rules;
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {
      {.framework = "birefnet",
       .probes = {"bb.patch_embed.proj.weight", "squeeze_module.0.conv_in.weight", "decoder.conv_out1.0.weight"},
       .taps = taps()}};
  return table;
}

}  // namespace ferry::birefnet
