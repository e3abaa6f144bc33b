// `ferry bisect` names the common faults of language model ports. They are planted in a family's code, where only the
// reference shows them, and in a blob, where the graph does.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "converter/graph/float16.h"
#include "converter/quantize/quantize.h"
#include "sdk/model/elements.h"
#include "tests/parity/bisected_network.h"

namespace ferry::bisect {
namespace {

using nlohmann::json;
using Op = fbs::OpParams;

// Changes the operators that `wanted` selects, from the last to the first, so that `change` may remove them.
template <typename Wanted, typename Change>
void for_each_op(Graph& graph, const Wanted& wanted, const Change& change) {
  for (size_t at = graph.table.operators.size(); at-- > 0;)
    if (wanted(*graph.table.operators[at])) change(at);
}

auto of_type(Op type) {
  return [type](const fbs::OperatorT& op) { return is(op, type); };
}
auto named(const std::string& end) {
  return [end](const fbs::OperatorT& op) { return op.name.ends_with(end); };
}

// ---- what is planted ----

Plant config(const std::string& path, json value) {
  return {.config = [=](json& config) { config[json::json_pointer(path)] = value; }};
}

// Exchanges the pairing of split halves and adjacent channels, including the angles.
void exchange_pairing(Graph& graph) {
  for_each_op(graph, of_type(Op::RotaryEmbedding),
              [&](size_t at) { graph.table.operators[at]->params.AsRotaryEmbedding()->interleaved ^= true; });
  for_each_op(
      graph, [&](const auto& op) { return is(op, Op::Gather) && graph.at(op.inputs[0]).name.starts_with("rope."); },
      [&](size_t at) {
        fbs::OperatorT& op = *graph.table.operators[at];
        const auto width = static_cast<size_t>(graph.shape(op.inputs[0])[1]);
        recompute(graph, op, 0, [width](const std::vector<double>& values, size_t i) {
          const size_t column = i % width;
          return values[i - column + column / 2];  // from split halves: the first half's columns, each twice
        });
      });
}

void leave_out_norms(Graph& graph, const std::vector<std::string>& ends) {
  for (const std::string& end : ends) for_each_op(graph, named(end), [&](size_t at) { leave_out(graph, at); });
}

// Queries are rotated as if their position were one higher.
void count_queries_from_1(Graph& graph) {
  for (size_t at = 0; at < graph.table.operators.size(); ++at) {
    fbs::OperatorT& op = *graph.table.operators[at];
    const auto feeds_queries = [&](const auto& other) {
      return is(*other, Op::Attention) && other->inputs[0] == op.outputs.front();
    };
    if (!is(op, Op::RotaryEmbedding) ||
        std::none_of(graph.table.operators.begin(), graph.table.operators.end(), feeds_queries))
      continue;
    insert_before(graph, at, [&] {
      for (size_t input : {1u, 2u}) {
        const auto gather = std::find_if(graph.table.operators.begin(), graph.table.operators.end(),
                                         [&](const auto& o) { return o->outputs.front() == op.inputs[input]; });
        const Tensor table{&graph, (*gather)->inputs[0]}, places{&graph, (*gather)->inputs[1]};
        const Tensor one = graph.add_constant("", Shape{1}, std::vector<int32_t>{1});
        const Tensor further = graph.add_op("", fbs::BinaryT(), {places, one});
        op.inputs[input] = graph.add_op("", fbs::GatherT(), {table, further}).id;
      }
    });
    at += 4;
  }
}

// Embedding rows are read with an offset of one.
void read_rows_from_1(Graph& graph) {
  for_each_op(graph, named("model.embed_tokens"), [&](size_t at) {
    fbs::OperatorT& op = *graph.table.operators[at];
    const auto width = static_cast<size_t>(graph.shape(op.inputs[0])[1]);
    recompute(graph, op, 0,
              [width](const std::vector<double>& values, size_t i) { return values[(i + width) % values.size()]; });
  });
}

void leave_out_sinks(Graph& graph) {
  for_each_op(graph, of_type(Op::Attention), [&](size_t at) {
    fbs::OperatorT& op = *graph.table.operators[at];
    op.params.AsAttention()->sinks = false;
    op.inputs.pop_back();
  });
}

void scale_scores(Graph& graph, float scale) {
  for_each_op(graph, of_type(Op::Attention),
              [&](size_t at) { graph.table.operators[at]->params.AsAttention()->scale = scale; });
}

// Replaces the sum of routed and shared experts by the routed experts.
void leave_out_shared_expert(Graph& graph) {
  for_each_op(
      graph,
      [&](const fbs::OperatorT& op) {
        if (!is(op, Op::Binary) || op.params.AsBinary()->kind != fbs::BinaryKind::Add) return false;
        const auto gives = [&](const auto& o) { return o->outputs.front() == op.inputs[0]; };
        const auto& all = graph.table.operators;
        const auto reshape = std::find_if(all.begin(), all.end(), gives);
        if (reshape == all.end() || !is(**reshape, Op::Reshape)) return false;
        return std::any_of(all.begin(), all.end(), [&](const auto& o) {
          return is(*o, Op::Experts) && o->outputs.front() == (*reshape)->inputs[0];
        });
      },
      [&](size_t at) {  // the module's tap is the sum
        const TensorId sum = graph.table.operators[at]->outputs.front(), kept = graph.table.operators[at]->inputs[0];
        for (const auto& tap : graph.table.taps)
          if (tap->tensor == sum) tap->tensor = kept;
        leave_out(graph, at);
      });
  std::erase_if(graph.table.taps, [](const auto& tap) { return tap->name.find("shared_expert") != std::string::npos; });
}

// Norm weights are stored minus 1, but are used as stored.
void take_norms_as_they_are(Graph& graph) {
  for_each_op(
      graph,
      [&](const auto& op) {
        return is(op, Op::LayerNorm) && op.name.ends_with("norm") && !op.name.ends_with("linear_attn.norm");
      },
      [&](size_t at) {
        recompute(graph, *graph.table.operators[at], 1,
                  [](const std::vector<double>& values, size_t i) { return values[i] - 1; });
      });
}

struct PlantedCase {
  const char* name;
  const char* fixture;
  Plant plant;
  const char* first;  // the fixture's first tensor out of bounds if the family is wrong
  struct Explanation {
    const char* op;
    const char* name;
    const char* cause;
  } by_reference, by_graph;
  bool with_head = false;  // the checkpoint has another matrix as lm_head.weight
};

std::ostream& operator<<(std::ostream& out, const PlantedCase& c) { return out << c.name; }

const PlantedCase kCases[] = {
    {"RopeBase",
     "hf_qwen3_tiny",
     config("/rope_parameters/rope_theta", 1e6),
     "tap/model.layers.0.self_attn",
     {"rotary_embedding", "before model.layers.0.self_attn.o_proj", "(rope_theta) is 1e+06 instead of 10000"},
     {"gather", "rope.cos", "(rope_theta) is 1e+06 instead of 10000"}},
    {"RopeBaseOfNobody",
     "hf_qwen3_tiny",
     config("/rope_parameters/rope_theta", 31000),
     "tap/model.layers.0.self_attn",
     {"rotary_embedding", "before model.layers.0.self_attn.o_proj", "(rope_theta) is 31000 instead of 10000"},
     {"gather", "rope.cos", "(rope_theta) is 31000 instead of 10000"}},
    {"RopeNeighbours",
     "hf_llama_tiny",
     {.graph = exchange_pairing},
     "tap/model.layers.0.self_attn.o_proj",
     {"rotary_embedding", "before model.layers.0.self_attn.o_proj", "rotates adjacent channels"},
     {"gather", "rope.cos", "rotates adjacent channels"}},
    {"RopeHalves",
     "hf_deepseek_v3_tiny",
     config("/rope_interleave", false),
     "tap/model.layers.0.self_attn",
     {"rotary_embedding", "before model.layers.0.self_attn.kv_a_proj_with_mqa", "rotates the halves of a head"},
     {"gather", "rope.cos", "rotates the halves of a head"}},
    {"RopeUnscaled",
     "hf_gemma3_text_tiny",
     config("/rope_parameters/full_attention/rope_type", "default"),
     "tap/model.layers.2.self_attn.o_proj",
     {"rotary_embedding", "before model.layers.2.self_attn.o_proj", "angles are 8 times the right ones"},
     {"gather", "rope.cos", "angles are 8 times the right ones"}},
    {"QueryNorm",
     "hf_qwen3_tiny",
     {.graph = [](Graph& g) { leave_out_norms(g, {"q_norm"}); }},
     "tap/model.layers.0.self_attn",
     {"linear", "model.layers.0.self_attn.q_proj",
      "the norm 'model.layers.0.self_attn.q_norm' of the checkpoint is left out"},
     {"layer_norm", "model.layers.0.self_attn.q_norm", "the norm \'model.layers.0.self_attn.q_norm' is left out"}},
    {"QueryAndKeyNorm",
     "hf_qwen3_tiny",
     {.graph =
          [](Graph& g) {
            leave_out_norms(g, {"q_norm", "k_norm"});
          }},
     "tap/model.layers.0.self_attn",
     {"linear", "model.layers.0.self_attn.q_proj", "k_norm' of the checkpoint is left out"},
     {"layer_norm", "model.layers.0.self_attn.q_norm", "the norm \'model.layers.0.self_attn.q_norm' is left out"}},
    {"Place",
     "hf_qwen3_tiny",
     {.graph = count_queries_from_1},
     "tap/model.layers.0.self_attn",
     {"rotary_embedding", "before model.layers.0.self_attn.o_proj", "the queries' are one ahead of the keys'"},
     {"rotary_embedding", "before model.layers.0.self_attn.o_proj", "are off by one: they are one ahead"}},
    {"Rows",
     "hf_llama_tiny",
     {.graph = read_rows_from_1},
     "tap/model.embed_tokens",
     {"gather", "model.embed_tokens", "are read at indices that are 1 too high"},
     {"gather", "model.embed_tokens", "are read at indices that are 1 too high"}},
    {"Window",
     "hf_mistral_tiny",
     config("/sliding_window", 7),
     "tap/model.layers.0.self_attn.o_proj",
     {"attention", "before model.layers.0.self_attn.o_proj", "attends to the last 7 tokens instead of the last 8"},
     {"attention", "before model.layers.0.self_attn.o_proj", "attends to the last 7 tokens instead of the last 8"}},
    {"NoWindow",
     "hf_mistral_tiny",
     config("/sliding_window", nullptr),
     "tap/model.layers.0.self_attn.o_proj",
     {"attention", "before model.layers.0.self_attn.o_proj", "attends to all previous tokens instead of the last 8"},
     {"attention", "before model.layers.0.self_attn.o_proj", "attends to all previous tokens instead of the last 8"}},
    {"Router",
     "hf_qwen3_moe_tiny",
     config("/norm_topk_prob", false),
     "tap/model.layers.0.mlp",
     {"experts", "model.layers.0.mlp.experts", "weights are not divided by their sum and should be"},
     {"experts", "model.layers.0.mlp.experts", "weights are not divided by their sum and should be"}},
    {"SharedExpert",
     "hf_qwen3_5_moe_text_tiny",
     {.graph = leave_out_shared_expert},
     "tap/model.layers.0.mlp",
     {"experts", "model.layers.0.mlp.experts", "the shared expert, 'model.layers.0.mlp.shared_expert' with its gate"},
     {"binary", "model.layers.0.mlp", "the output of 'model.layers.0.mlp.shared_expert.down_proj'"}},
    {"SharedExpertWithoutGate",
     "hf_deepseek_v3_tiny",
     {.graph = leave_out_shared_expert},
     "tap/model.layers.1.mlp",
     {"experts", "model.layers.1.mlp.experts", "the shared expert, 'model.layers.1.mlp.shared_experts'"},
     {"binary", "model.layers.1.mlp", "the output of 'model.layers.1.mlp.shared_experts.down_proj'"}},
    {"Sink",
     "hf_gpt_oss_tiny",
     {.graph = leave_out_sinks},
     "tap/model.layers.0.self_attn",
     {"attention", "before model.layers.0.self_attn.o_proj", "attention's sink, 'model.layers.0.self_attn.sinks'"},
     {"attention", "before model.layers.0.self_attn.o_proj", "attention's sinks are left out"}},
    {"Scale",
     "hf_gemma3_text_tiny",
     config("/query_pre_attn_scalar", 32),
     "tap/model.layers.0.self_attn.o_proj",
     {"attention", "before model.layers.0.self_attn.o_proj", "(1/sqrt(32)) instead of 0.204"},
     {"attention", "before model.layers.0.self_attn.o_proj", "(1/sqrt(32)) instead of 0.204"}},
    {"ScaleOfTheWidth",
     "hf_qwen3_tiny",
     {.graph = [](Graph& g) { scale_scores(g, 1 / std::sqrt(128.0f)); }},
     "tap/model.layers.0.self_attn",
     {"attention", "before model.layers.0.self_attn.o_proj", "(1/sqrt(128)) instead of 0.176777 (1/sqrt(32))"},
     {"attention", "before model.layers.0.self_attn.o_proj", "(1/sqrt(128)) instead of 0.176777 (1/sqrt(32))"}},
    {"ZeroCentred",
     "hf_qwen3_5_text_tiny",
     {.graph = take_norms_as_they_are},
     "tap/model.layers.0.input_layernorm",
     {"layer_norm", "model.layers.0.input_layernorm", "zero-centred: add 1"},
     {"layer_norm", "model.layers.0.input_layernorm", "zero-centred: add 1"}},
    {"TiedHead",
     "hf_llama_tiny",
     config("/tie_word_embeddings", false),
     "tap/lm_head",
     {"linear", "lm_head", "'lm_head.weight' instead of the embedding 'model.embed_tokens.weight'"},
     {"linear", "lm_head", "'lm_head.weight' instead of the embedding 'model.embed_tokens.weight'"},
     true},
};

class PlantedInText : public BisectedNetwork, public ::testing::WithParamInterface<PlantedCase> {
 protected:
  void SetUp() override {
    set_up(GetParam().fixture, "");
    if (IsSkipped()) return;
    if (GetParam().with_head) add_head();
  }

  Finding found(bool keep_taps, Search search) {
    from_planted(GetParam().plant, keep_taps, search);
    return find();
  }

  // The head is tied to the embedding, but the checkpoint has a head too.
  void add_head() {
    auto tensors = right_->tensors();
    std::vector<float> values = tensors.at("model.embed_tokens.weight").to_floats();
    std::reverse(values.begin(), values.end());
    tensors["lm_head.weight"] = tensors.at("model.embed_tokens.weight");
    tensors["lm_head.weight"].bytes = std::as_bytes(std::span(values));
    options_.checkpoint = folder_.path() / "with_head.safetensors";
    write_safetensors(options_.checkpoint, tensors);
  }

  void expect_explanation(const Finding& f, Fault fault, const PlantedCase::Explanation& expected) {
    EXPECT_EQ(f.op, expected.op);
    expect(f, fault, expected.name, expected.cause);
    EXPECT_LT(f.cause_error, 1e-4) << f.cause;
  }
};

TEST_P(PlantedInText, IsFoundInAFamily) {
  for (const bool keep_taps : {false, true}) {
    const Finding finding = found(keep_taps, Search::ByPlanted);
    EXPECT_EQ(finding.first, GetParam().first);
    expect_explanation(finding, Fault::Graph, GetParam().by_reference);
  }
}

TEST_P(PlantedInText, IsFoundInABlob) {
  for (const bool keep_taps : {false, true})
    expect_explanation(found(keep_taps, Search::ByRight), Fault::Conversion, GetParam().by_graph);
}

INSTANTIATE_TEST_SUITE_P(Planted, PlantedInText, ::testing::ValuesIn(kCases),
                         [](const auto& of) { return of.param.name; });

// A kept weight in blocks with Float16 scales: the search reads the values that the backend computes with, so that what
// differs is the checkpoint's weight.
class StoredInBlocks : public BisectedNetwork {};

TEST_F(StoredInBlocks, WithFloat16ScalesIsComparedWithTheCheckpoint) {
  set_up("hf_qwen3_tiny", "");
  if (IsSkipped()) return;
  const std::string module = "model.layers.0.mlp.down_proj";
  const float scale = from_float16(to_float16(0.03));
  from_changed(true, module + ".weight", [scale](std::vector<float>& values) {
    for (float& v : values) v = std::clamp(std::nearbyint(v / scale), -7.0f, 7.0f) * scale;
  });
  keep_integers(*graph_);
  const Type type = type_of(graph_->at(op(module, Op::Linear).inputs[1]));
  ASSERT_TRUE(type.quantized && type.block > 0);
  ASSERT_EQ(graph_->at(type.scale).dtype, fbs::DType::Float16);
  const Finding found = find();
  EXPECT_EQ(found.fault, Fault::Conversion) << found.first;
  EXPECT_EQ(found.name, module);
}

// An unknown fault gets no cause.
class UnknownInText : public BisectedNetwork, public ::testing::WithParamInterface<const char*> {};

TEST_P(UnknownInText, HasNoCause) {
  set_up("hf_qwen3_5_moe_text_tiny", "");
  if (IsSkipped()) return;
  const Plant plant{.graph = [](Graph& graph) {
    for_each_op(graph, named(GetParam()), [&](size_t at) {
      const auto unlike = [](const std::vector<double>& values, size_t i) {
        return values[i] * (1 + 0.3 * std::sin(12.9898 * static_cast<double>(i)));
      };
      recompute(graph, *graph.table.operators[at], 1, unlike);
    });
  }};
  for (const Search search : {Search::ByRight, Search::ByPlanted}) {
    from_planted(plant, false, search);
    const Finding f = find();
    EXPECT_EQ(f.fault, search == Search::ByPlanted ? Fault::Graph : Fault::Conversion);
    EXPECT_GT(f.causes, 0u);
    EXPECT_EQ(f.cause, "") << f.name << " leaves " << f.cause_error << " of " << f.error;
  }
}

INSTANTIATE_TEST_SUITE_P(Unknown, UnknownInText,
                         ::testing::Values("layers.3.self_attn.q_proj", "layers.3.self_attn.k_proj",
                                           "layers.3.self_attn.o_proj", "layers.3.self_attn.q_norm",
                                           "layers.0.linear_attn.in_proj_qkv", "layers.0.mlp.shared_expert.down_proj",
                                           "layers.0.mlp.shared_expert.gate_proj", "layers.3.input_layernorm",
                                           "lm_head"));

class RightText : public BisectedNetwork, public ::testing::WithParamInterface<const char*> {};

TEST_P(RightText, HasNoFault) {
  set_up(GetParam(), "");
  if (IsSkipped()) return;
  for (const bool keep_taps : {false, true}) {
    from_right(keep_taps);
    const Finding f = find();
    EXPECT_EQ(f.fault, Fault::None) << f.first;
    EXPECT_EQ(f.cause, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Right, RightText,
                         ::testing::Values("hf_llama_tiny", "hf_mistral_tiny", "hf_qwen3_tiny", "hf_gemma2_tiny",
                                           "hf_gemma3_text_tiny", "hf_qwen3_moe_tiny", "hf_gpt_oss_tiny",
                                           "hf_deepseek_v3_tiny", "hf_qwen3_5_text_tiny", "hf_qwen3_5_moe_text_tiny",
                                           "hf_qwen3_next_tiny"));

}  // namespace
}  // namespace ferry::bisect

#endif  // FERRY_HAS_CONVERTER
