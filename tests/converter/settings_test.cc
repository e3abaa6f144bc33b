// Settings by name and value, and their round trip through a blob's provenance.
#include "converter/settings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "converter/provenance.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

TEST(Settings, HoldValuesByName) {
  Settings settings;
  settings.add("features", 2);
  settings.set("in-chans", 1);
  settings.add("features", 0);
  settings.set("in-chans", 4);
  EXPECT_EQ(settings.integer("in-chans", 1, 64), 4);
  EXPECT_EQ(settings.integers("features"), (std::vector<int>{2, 0}));
  EXPECT_EQ(settings.integer("num-classes", 0), std::nullopt);
  EXPECT_FALSE(settings.has("unit-length"));
  settings.set("unit-length");
  EXPECT_TRUE(settings.has("unit-length"));
  settings.set_flag("unit-length", false);
  EXPECT_FALSE(settings.has("unit-length"));
  settings.set_flag("unit-length", true);
  EXPECT_EQ(settings.values("unit-length"), std::vector<std::string>{""});
  settings.erase("features");
  EXPECT_EQ(settings.text("features"), "");
  settings.set("input-size", "224x320");
  EXPECT_EQ(settings.size("input-size"), (Settings::Size{224, 320}));
  settings.set("input-size", 96);
  EXPECT_EQ(settings.size("input-size"), (Settings::Size{96, 96}));
}

TEST(Settings, RefuseValuesOfAnotherKind) {
  const auto refused = [](const char* value, auto read) {
    Settings settings;
    settings.set("name", value);
    return complaint([&] { read(settings); });
  };
  const auto integer = [](const Settings& s) { s.integer("name", 1, 64); };
  EXPECT_EQ(refused("65", integer), "--name 65: expected 1 to 64");
  EXPECT_EQ(refused("4.5", integer), "--name 4.5: expected 1 to 64");
  EXPECT_EQ(refused("", integer), "--name : expected 1 to 64");
  const auto size = [](const Settings& s) { s.size("name"); };
  for (const char* bad : {"", "x", "224x", "x224", "224x320x3", "a224", "224 x 320"})
    EXPECT_EQ(refused(bad, size), std::string("--name ") + bad + ": expected HxW in pixels, like 224x320");
  EXPECT_EQ(refused("16x0", size), "--name: a side of 0, expected 1 to 16384");
  EXPECT_EQ(refused("1,2", [](const Settings& s) { s.integers("name"); }), "--name 1,2: expected a whole number");
}

TEST(Settings, AnOptionWithoutAValueHasItsDefault) {
  Settings settings;
  EXPECT_EQ(value_of(settings, "weights"), "f32");
  EXPECT_EQ(value_of(settings, "labels"), "");
  settings.set("weights", "i8");
  EXPECT_EQ(value_of(settings, "weights"), "i8");
}

TEST(Provenance, DoesNotRecordDefaults) {
  ConvertOptions options;
  options.settings.set("weights", "f32");
  fbs::ProvenanceT provenance;
  write_options(options, &provenance);
  EXPECT_TRUE(provenance.options.empty());
}

TEST(Provenance, RestoresTheOptionsThatDetermineTheNetwork) {
  ConvertOptions options;
  options.settings.set("state-dict", "model ema");
  options.settings.set("num-classes", 10);
  options.settings.set("unit-length");
  options.settings.add("features", 3);
  options.settings.add("features", 1);
  options.settings.set("keep-taps");
  options.settings.set("weights", "f16");
  options.settings.set("labels", "/home/someone/labels.txt");
  fbs::ProvenanceT provenance;
  provenance.framework = "timm";
  provenance.variant = "resnet50.a1_in1k";
  write_options(options, &provenance);
  EXPECT_EQ(provenance.options, (std::vector<std::string>{"--features 3", "--features 1", "--keep-taps", "--labels",
                                                          "--num-classes 10", "--unit-length", "--weights f16"}));
  EXPECT_EQ(provenance.state_dict, "model ema");

  const ConvertOptions again = read_options(provenance);
  EXPECT_EQ(again.settings.text("model"), "timm/resnet50.a1_in1k");
  EXPECT_EQ(again.settings.text("state-dict"), "model ema");
  EXPECT_TRUE(again.settings.has("keep-taps"));
  Settings network = options.settings;
  network.set("model", "timm/resnet50.a1_in1k");
  network.erase("labels");
  network.erase("weights");
  const auto read = again.settings.all(), expected = network.all();
  EXPECT_TRUE(std::equal(read.begin(), read.end(), expected.begin(), expected.end()));

  provenance.options.push_back("--state-dict net");  // blobs of version 0.1
  EXPECT_EQ(read_options(provenance).settings.values("state-dict"), std::vector<std::string>{"net"});
  provenance.options.push_back("resnet50");
  EXPECT_EQ(complaint([&] { read_options(provenance); }), "the blob's provenance has the unknown option 'resnet50'");
}

}  // namespace
}  // namespace ferry
