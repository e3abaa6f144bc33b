#include "converter/checkpoint/keys.h"

#include <gtest/gtest.h>

#include <set>

#include "converter/checkpoint/source.h"
#include "converter/graph/ops.h"
#include "models/families.h"
#include "tests/converter/checkpoint_fixtures.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using KeyNames = std::set<std::string>;

// A checkpoint with a tensor of one element per name, whose value is the name's place.
std::shared_ptr<const Checkpoint> checkpoint_with(const std::vector<std::string>& names) {
  auto checkpoint = std::make_shared<MemoryCheckpoint>();
  for (size_t i = 0; i < names.size(); ++i) checkpoint->add(names[i], {1}, std::vector{static_cast<float>(i)});
  return checkpoint;
}

KeyNames key_names(const Checkpoint& checkpoint) {
  KeyNames out;
  for (const auto& [name, tensor] : checkpoint.tensors()) out.insert(name);
  return out;
}

// Reads the keys as open_network() does for a network with the probes "a.b.weight" and "a.c.weight", and "head" apart.
std::shared_ptr<const Checkpoint> read_keys(const std::vector<std::string>& names) {
  const std::string probes[] = {"a.b.weight", "a.c.weight"}, apart[] = {"head"};
  const auto checkpoint = without_wrappers(checkpoint_with(names));
  const std::vector<KeyPrefix> found = prefixes_for(*checkpoint, probes);
  return found.empty() ? nullptr : with_prefix(checkpoint, found.front(), probes, apart);
}

TEST(Keys, PrefixesOfWrappersAndOfLeftOutModulesAreTheNetworksOwn) {
  const struct {
    std::vector<std::string> stored;
    KeyNames read;
    std::vector<std::string> notes;
  } kCases[] = {
      {{"a.b.weight", "a.c.weight", "head.weight"}, {"a.b.weight", "a.c.weight", "head.weight"}, {}},
      {{"module.a.b.weight", "module.a.c.weight"},
       {"a.b.weight", "a.c.weight"},
       {"2 keys are read without 'module.' of a wrapper around the network"}},
      // DataParallel of a Lightning module of a compiled part.
      {{"module.net.a._orig_mod.b.weight", "module.net.a._orig_mod.c.weight", "module.net.head.weight"},
       {"a.b.weight", "a.c.weight", "head.weight"},
       {"3 keys are read without '_orig_mod.' and 'module.' of a wrapper around the network",
        "3 keys are read without the prefix 'net.'"}},
      {{"b.weight", "c.weight", "c.bias", "head.weight"},
       {"a.b.weight", "a.c.weight", "a.c.bias", "head.weight"},
       {"3 keys are read with the prefix 'a.', which the checkpoint leaves out"}},
      {{"xa.b.weight", "xa.c.weight"},
       {"a.b.weight", "a.c.weight"},
       {"2 keys are read with the prefix 'a.' instead of 'xa.'"}},
      // What is outside of the prefix stays: the network must use it.
      {{"net.a.b.weight", "net.a.c.weight", "loss.weight"},
       {"a.b.weight", "a.c.weight", "loss.weight"},
       {"2 keys are read without the prefix 'net.'"}},
      // A wrapper's name that is not one: the two would be the same.
      {{"a.b.weight", "a.c.weight", "module.a.b.weight"}, {"a.b.weight", "a.c.weight", "module.a.b.weight"}, {}},
  };
  for (const auto& c : kCases) {
    const auto checkpoint = read_keys(c.stored);
    ASSERT_TRUE(checkpoint) << c.stored.front();
    EXPECT_EQ(key_names(*checkpoint), c.read) << c.stored.front();
    EXPECT_EQ(checkpoint->notes(), c.notes) << c.stored.front();
  }
  EXPECT_FALSE(read_keys({"a.b.weight", "x.a.c.weight"})) << "no prefix fits both";
  const std::string probes[] = {"a.b.weight", "c.weight"};
  EXPECT_TRUE(prefixes_for(*checkpoint_with({"x.b.weight", "c.weight"}), probes).empty())
      << "all probes have one prefix";
  EXPECT_FALSE(read_keys({"x.ab.weight", "x.ac.weight"})) << "a prefix ends at a component";
}

TEST(Keys, OfSeveralCopiesTheAveragedIsRead) {
  const std::vector<std::string> plain = {"model.a.b.weight", "model.a.c.weight", "model.a.c.bias"};
  std::vector<std::string> both = plain;
  for (const std::string& name : plain) both.push_back("ema." + name.substr(6));
  both.push_back("ema.n_averaged");
  const auto checkpoint = read_keys(both);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(key_names(*checkpoint), (KeyNames{"a.b.weight", "a.c.weight", "a.c.bias", "n_averaged"}));
  EXPECT_EQ(checkpoint->tensors().at("a.b.weight").to_floats(), std::vector<float>{3});
  EXPECT_EQ(checkpoint->notes().front(),
            "of 2 copies of the network, 'ema.' is read (averaged weights), not 'model.' (3 keys), which --state-dict "
            "model reads");
  // Averages of parameters only, without buffers, are no whole network.
  both.erase(both.end() - 2);
  const auto incomplete = read_keys(both);
  EXPECT_EQ(incomplete->tensors().at("a.b.weight").to_floats(), std::vector<float>{0});
  EXPECT_NE(incomplete->notes().front().find("(the averaged weights under 'ema.' lack 1 key), not 'ema.'"),
            std::string::npos)
      << incomplete->notes().front();
  // Beside names without a prefix.
  const auto beside =
      read_keys({"a.b.weight", "a.c.weight", "ema_model.module.a.b.weight", "ema_model.module.a.c.weight"});
  EXPECT_EQ(beside->tensors().at("a.b.weight").to_floats(), std::vector<float>{2});
  EXPECT_EQ(key_names(*beside), (KeyNames{"a.b.weight", "a.c.weight"}));
  EXPECT_EQ(complaint([] {
              read_keys({"x.a.b.weight", "x.a.c.weight", "y.a.b.weight", "y.a.c.weight"});
            }),
            "model.safetensors: holds 2 copies of the network; choose one with --state-dict: x, y");
}

TEST(Keys, RulesOfTheUserComeInOrder) {
  const auto checkpoint = checkpoint_with({"encoder.0.w", "encoder.1.w", "loss.w"});
  const auto renamed =
      with_key_rules(checkpoint, {.ignore = {"^loss\\."}, .rename = {"^encoder\\.=", "^(\\d)\\.w$=layer$1.weight"}});
  EXPECT_EQ(key_names(*renamed), (KeyNames{"layer0.weight", "layer1.weight"}));
  EXPECT_EQ(renamed->notes(),
            (std::vector<std::string>{
                "--ignore-keys ^loss\\. leaves out 1 key, for example 'loss.w'",
                "--rename-keys ^encoder\\.= renames 2 keys, for example 'encoder.0.w' to '0.w'",
                "--rename-keys ^(\\d)\\.w$=layer$1.weight renames 2 keys, for example '0.w' to 'layer0.weight'"}));
  const auto refused = [&](const KeyRules& rules) { return complaint([&] { with_key_rules(checkpoint, rules); }); };
  EXPECT_EQ(refused({.ignore = {"head"}}), "--ignore-keys head: matches no key of the checkpoint");
  EXPECT_EQ(refused({.rename = {"\\d="}}),
            "--rename-keys \\d=: would rename \"encoder.0.w\" and \"encoder.1.w\" to \"encoder..w\"");
  EXPECT_EQ(refused({.rename = {"head"}}),
            "--rename-keys \"head\": expected OLD=NEW, a regular expression and what replaces it");
  EXPECT_TRUE(refused({.ignore = {"("}}).starts_with("--ignore-keys \"(\": is no regular expression: "));
  EXPECT_TRUE(refused({.ignore = {std::string(1001, 'a')}}).ends_with("a regular expression of 1 to 1000 characters"));
}

TEST(Keys, AStateDictMayBeAPrefix) {
  const auto under = [](const char* prefix) {
    return tensors_under(checkpoint_with({"ema.a", "ema.b.c", "emax.a", "k/d"})->tensors(), prefix, "x");
  };
  EXPECT_EQ(under("ema").size(), 2u);
  EXPECT_EQ(under("ema/b").size(), 1u);
  EXPECT_EQ(complaint([&] { under("model"); }), "x: has no keys under \"model\"; there are: \"ema\", \"emax\", \"k\"");
}

TEST(Ledger, BuffersThatTheConfigurationDeterminesAreCompared) {
  const Naming naming{.framework = "transformers"};
  const auto finished = [&](const std::string& key, std::vector<float> values) {
    auto file = std::make_shared<MemoryCheckpoint>();
    const auto count = static_cast<int64_t>(values.size());
    file->add(key, {count}, std::move(values));
    Graph graph;
    Ledger ledger(file, naming);
    return complaint([&] {
      Weights(graph, ledger)["rotary"].computed("inv_freq", {{1, 0.01}, {0.5, 0.005}});
      ledger.finish();
      ASSERT_EQ(ledger.details.size(), 1u);
    });
  };
  EXPECT_EQ(finished("rotary.inv_freq", {1, 0.0100001f}), "no error");
  EXPECT_EQ(finished("rotary.inv_freq", {0.5f, 0.005f}), "no error");
  EXPECT_EQ(finished("rotary.inv_freq", {1, 0.001f}),
            "'rotary.inv_freq' has 0.001 at 1, but the configuration results in 0.01: config.json is another model's, "
            "or --ignore-keys 'inv_freq' trusts it");
  EXPECT_EQ(finished("rotary.inv_freq", {1}), "'rotary.inv_freq' has 1 values, but the configuration results in 2");
  EXPECT_EQ(finished("embeddings.position_ids", {0, 1, 2}), "no error");
  EXPECT_TRUE(finished("embeddings.position_ids", {0, 2, 1}).starts_with("the network does not use 1 key"));
  for (const char* counter : {"n_averaged", "bn.num_batches_tracked", "conv.total_ops"}) {
    EXPECT_EQ(finished(counter, {7}), "no error") << counter;
    EXPECT_NE(finished(counter, {7, 8}), "no error") << counter << " of two elements is no counter";
  }
}

// A folder with these files; their contents do not matter.
TEST(ChooseCheckpoint, SaysWhichOfSeveralIsReadAndWhy) {
  const auto chosen = [](const std::vector<std::string>& files) {
    std::vector<std::string> notes;
    std::string file;
    const std::string message = complaint([&] { file = choose_checkpoint(files, "x", &notes); });
    return message != "no error" ? message : notes.empty() ? file : file + ": " + notes[0];
  };
  EXPECT_EQ(chosen({"config.json", "model.safetensors", "optimizer.pt", "rng_state_0.pth"}), "model.safetensors");
  EXPECT_EQ(
      chosen({"pytorch_model.bin", "tf_model.h5", "model.safetensors"}),
      "model.safetensors: model.safetensors is read, not pytorch_model.bin, tf_model.h5: in a folder, safetensors "
      "come before PyTorch, and whole files before sharded ones");
  EXPECT_EQ(chosen({"model.safetensors.index.json", "model-00001-of-00001.safetensors"}),
            "model.safetensors.index.json");
  EXPECT_EQ(chosen({"b.safetensors", "a.safetensors"}),
            "x: holds 2 checkpoints; name one of them: a.safetensors, b.safetensors");
  EXPECT_EQ(chosen({"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}),
            "x: holds the shards model-00001-of-00002.safetensors, model-00002-of-00002.safetensors, but not their "
            "index, model.safetensors.index.json");
}

}  // namespace
}  // namespace ferry
