// make_fuzz_seeds FOLDER: seed inputs for harnesses for which tests/ has no files, as FOLDER/HARNESS/NAME.
#include <ferry/text.h>

#include <cstring>
#include <fstream>

#include "converter/checkpoint/sha256.h"
#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "sdk/cpu/backend/fingerprint.h"
#include "sdk/graph/session.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_file.h"
#include "sdk/model/seeded.h"
#include "tests/fuzz/harness.h"
#include "tests/support/blobs.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/language_model.h"
#include "tests/support/task_networks.h"
#include "text_generated.h"

namespace {

using namespace ferry;
namespace fs = std::filesystem;

fs::path folder;

void write(const char* harness, const std::string& name, std::span<const std::byte> bytes) {
  fs::create_directories(folder / harness);
  std::ofstream(folder / harness / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void write(const char* harness, const std::string& name, const std::string& text) {
  write(harness, name, std::as_bytes(std::span(text.data(), text.size())));
}

std::unique_ptr<fbs::CertificateT> certificate_of(const fbs::GraphT& graph) {
  auto certificate = std::make_unique<fbs::CertificateT>();
  for (const auto& input : graph.inputs) {
    auto row = std::make_unique<fbs::CertificateInputT>();
    row->shape = graph.tensors[index_of(input->tensor)]->shape;
    row->seed = 3;
    certificate->inputs.push_back(std::move(row));
  }
  for (const auto& output : graph.outputs) {
    auto stage = std::make_unique<fbs::CertificateStageT>();
    stage->name = stage->entry = output->name;
    stage->samples = {0, 0.5f, -1};
    stage->bound = 0.01f;
    certificate->stages.push_back(std::move(stage));
  }
  return certificate;
}

// With the weights packed by this machine inside, as `ferry pack --embed` writes them.
std::vector<std::byte> with_packed(std::span<const std::byte> bytes) {
  const fuzz::Aligned blob(bytes);
  std::shared_ptr<Model> model;
  std::unique_ptr<Session> session;
  PackedTarget target;
  fuzz::require(Model::open_memory(blob.data(), blob.size(), &model).ok() &&
                    Session::create(model, {.num_threads = 1}, &session).ok() &&
                    cpu::packed_target(*model, &target).ok(),
                "the test's own blob cannot be packed");
  const PackedImage image = make_packed_image(model->packed(), target);
  std::vector<std::byte> file(image.bytes);
  std::memcpy(file.data(), image.head.data(), image.head.size());
  for (const PackedImage::Piece& piece : image.pieces)
    std::copy(piece.bytes.begin(), piece.bytes.end(), file.begin() + static_cast<ptrdiff_t>(piece.offset));
  testing::Parts parts(bytes);
  auto packed = std::make_unique<fbs::PackedT>();
  packed->target = target.description;
  packed->buffer = add_segment(file, &parts.model, &parts.data);
  parts.model.packed.push_back(std::move(packed));
  return parts.assemble();
}

// A blob of every kind: networks, tasks, several graphs, states, texts, integers, packed weights inside.
void blobs() {
  std::vector<testing::Named> all = testing::small_blobs();
  all.push_back({"small_language_model", pack(*testing::small_language_model())});
  all.push_back({"small_vision_language_model", pack(*testing::small_vision_language_model())});
  all.push_back({"two_graphs", pack(*testing::colour_masks())});
  fbs::PreprocessT recipe;
  recipe.resize_mode = fbs::ResizeMode::Exact;
  recipe.resize_h = recipe.resize_w = 8;
  all.push_back({"detection", pack(*testing::one_box(8, 8, recipe, {0.25f, 0.25f, 0.5f, 0.5f}))});
  all.push_back({"depth", pack(*testing::colour_as_depth(8, 8, 0, recipe))});
  all.push_back({"segmentation", pack(*testing::brightest_colour())});
  all.push_back({"inpainting", pack(*testing::gray_painter())});
  all.push_back({"matting", pack(*testing::red_in_front())});
  all.push_back({"ocr", pack(*testing::colour_reader(8, 8, recipe))});
  all.push_back({"landmarks", pack(*testing::corners_of_box(8, 8, recipe, {0.25f, 0.25f, 0.5f, 0.5f}, {0, 0, 1, 1}))});
  all.push_back({"packed_inside", with_packed(all[0].blob)});
  for (const testing::Named& named : all)
    for (const char* harness : {"blob", "network"}) write(harness, named.name, named.blob);

  testing::Parts parts(all[0].blob);
  parts.model.certificate = certificate_of(parts.model);
  write("certificate", "small_classifier", parts.assemble());

  testing::Parts masks(pack(*testing::colour_masks()));
  fbs::GraphT& prompt = *masks.model.graphs[0];
  masks.model.certificate = certificate_of(masks.model);
  prompt.certificate = certificate_of(prompt);
  for (const auto& input : prompt.certificate->inputs) input->values = {1};
  prompt.certificate->inputs[0]->values.clear();
  prompt.certificate->inputs[0]->from = prompt.inputs[0]->name;
  write("certificate", "colour_masks", masks.assemble());
}

void packed_weights() {
  PackedStore store;
  PackedBytes bytes;
  for (uint32_t i = 1; i < 4; ++i)
    fuzz::require(store
                      .get(
                          {.weight = i, .bias = i - 1, .packing = i * 77, .part = i % 2}, 40 * i,
                          [&](std::byte* to) {
                            std::memset(to, static_cast<int>(i), 40 * i);
                            return Status();
                          },
                          &bytes)
                      .ok(),
                  "no packed weights");
  const PackedImage image = make_packed_image(
      store, {.content = std::string(64, 'a'), .buffers = 5, .fingerprint = 6, .description = "x86-64"});
  std::string file = image.head;
  file.resize(image.bytes);
  for (const PackedImage::Piece& piece : image.pieces)
    std::memcpy(file.data() + piece.offset, piece.bytes.data(), piece.bytes.size());
  write("packed", "three", file);
}

void states() {
  const fuzz::Aligned blob(pack(*testing::small_transformer()));
  ferry_model* model = nullptr;
  ferry_session* session = nullptr;
  ferry_states* states = nullptr;
  fuzz::require(ferry_model_open_memory(blob.data(), blob.size(), &model) == FERRY_OK &&
                    ferry_session_create(model, nullptr, &session) == FERRY_OK &&
                    ferry_session_states(session, &states) == FERRY_OK && ferry_session_run(session) == FERRY_OK,
                "the test's own blob does not run");
  fs::create_directories(folder / "states");
  fuzz::require(ferry_states_save(states, (folder / "states" / "one_run").c_str()) == FERRY_OK, "nothing is saved");
  fuzz::require(ferry_states_reset(states) == FERRY_OK &&
                    ferry_states_save(states, (folder / "states" / "empty").c_str()) == FERRY_OK,
                "nothing is saved");
  ferry_states_close(states);
  ferry_session_close(session);
  ferry_model_close(model);
}

void conversations() {
  const fuzz::Aligned blob(pack(*testing::small_language_model()));
  ferry_model* model = nullptr;
  ferry_generator* generator = nullptr;
  fuzz::require(ferry_model_open_memory(blob.data(), blob.size(), &model) == FERRY_OK &&
                    ferry_generator_create(model, nullptr, &generator) == FERRY_OK,
                "the test's own blob cannot be opened");
  fs::create_directories(folder / "conversation");
  const auto save = [&](const char* name, const std::string& note) {
    fuzz::require(
        ferry_generator_save(generator, (folder / "conversation" / name).c_str(), note.data(), note.size()) == FERRY_OK,
        "nothing is saved");
  };
  save("empty", "");
  fuzz::require(ferry_generator_append_text(generator, "the \xC3\xA9", 6) == FERRY_OK, "a text is refused");
  save("not_run", "");
  int32_t token = 0;
  for (int i = 0; i < 3; ++i)
    fuzz::require(ferry_generator_next(generator, &token) == FERRY_OK, "nothing is generated");
  save("generated", R"({"messages": 1})");
  ferry_generator_close(generator);
  ferry_model_close(model);
}

void tokenizer() {
  std::string file;
  const auto number = [&](auto value) { file.append(reinterpret_cast<const char*>(&value), sizeof value); };
  number(uint16_t{262});
  number(int32_t{8});
  for (int id = 0; id < 262; ++id) {
    char byte[8];
    std::snprintf(byte, sizeof byte, "<0x%02X>", id - 3);
    const std::string piece = id == 0     ? "<unk>"
                              : id == 1   ? "<s>"
                              : id == 2   ? "</s>"
                              : id < 259  ? byte
                              : id == 259 ? "th"
                              : id == 260 ? "he"
                                          : " ";
    number(static_cast<float>(-id));
    number(static_cast<int32_t>(piece.size()));
    file += piece;
  }
  write("tokenizer", "bytes", file);
}

// One or more characters of a class, or outside of it, with a positive or negative lookahead.
std::unique_ptr<fbs::PatternT> pattern_of(char first, char last) {
  auto pattern = std::make_unique<fbs::PatternT>();
  auto set = std::make_unique<fbs::CharacterClassT>();
  set->ascii.assign(4, 0);
  for (int c = first; c <= last; ++c) set->ascii[static_cast<size_t>(c) / 32] |= 1u << c % 32;
  set->ranges = {0xE9, 0xE9, 0x3B1, 0x3C9};
  pattern->classes.push_back(std::move(set));
  using Op = fbs::PatternOp;
  pattern->program = {{Op::Before, true, 0, 0}, {Op::Class, false, 0, 0}, {Op::Split, false, 1, 3},
                      {Op::Look, true, 6, 1},   {Op::Next, true, 0, 0},   {Op::Match, false, 0, 0},
                      {Op::Class, false, 0, 0}, {Op::Match, false, 0, 0}};
  return pattern;
}

template <typename Kind>
std::unique_ptr<fbs::StepT> step_of(Kind kind) {
  auto step = std::make_unique<fbs::StepT>();
  step->kind.Set(std::move(kind));
  return step;
}

// A tokenizer of each kind with every kind of step, for tests/fuzz/text_mutator.h to change.
void tables() {
  for (const fbs::TokenizerKind kind : fbs::EnumValuesTokenizerKind()) {
    fbs::TextT text;
    text.tokenizer = std::make_unique<fbs::TokenizerT>();
    fbs::TokenizerT& t = *text.tokenizer;
    t.kind = kind;
    t.pieces = {"<unk>", "<s>", "</s>", "<0x41>", " ", "##e", "\xC3\xA9", "e", "h", "he", "t", "th", "the"};
    t.kinds.assign(t.pieces.size(), fbs::PieceKind::Normal);
    t.kinds[0] = fbs::PieceKind::Unknown;
    t.kinds[1] = t.kinds[2] = fbs::PieceKind::Control;
    t.kinds[3] = fbs::PieceKind::Byte;
    t.order = {4, 5, 7, 8, 9, 10, 11, 12, 6};
    for (size_t i = 0; i < t.pieces.size(); ++i) t.scores.push_back(-static_cast<double>(i));
    t.merges = {{7, 1}, {8, 0}, {7, 2}};  // h e, t h, th e
    t.merge_ends = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 3};
    t.merged = {11, 9, 12};
    t.unknown = 0;
    t.continuing = kind == fbs::TokenizerKind::WordPiece ? "##" : "";
    t.max_word = 20;
    t.before = {1};
    t.after = {2};
    t.bos = 1;
    t.eos = {2};
    fbs::CutT cut;
    cut.pattern = pattern_of('a', 'z');
    fbs::ReplaceT replace;
    replace.pattern = pattern_of('A', 'Z');
    replace.content = "the";
    fbs::MapT map;
    map.keys = {"A", "T", "\xC3\xA9"};
    map.values = {"a", "th", "e\xCC\x81"};
    fbs::OrderT order;
    order.classes = {{0x300, 0x314, 230}, {0x323, 0x326, 220}};
    order.compositions = {{'e', 0x301, 0xE9}};
    order.hangul = fbs::Hangul::Compose;
    t.normalizer.push_back(step_of(std::move(replace)));
    t.normalizer.push_back(step_of(std::move(map)));
    t.normalizer.push_back(step_of(std::move(order)));
    t.pre_tokenizer.push_back(step_of(std::move(cut)));
    for (auto* list : {&t.added, &t.added_normalized}) {
      *list = std::make_unique<fbs::AddedTokensT>();
      auto token = std::make_unique<fbs::AddedTokenT>();
      token->content = "<s>";
      token->id = 1;
      token->single_word = token->strip_left = token->strip_right = list == &t.added;
      (*list)->tokens.push_back(std::move(token));
      (*list)->first_bytes.assign(8, 0);
      (*list)->first_bytes['<' / 32] = 1u << '<' % 32;
    }
    for (auto* set : {&t.word_characters, &t.space_characters}) {
      *set = std::make_unique<fbs::CharacterClassT>();
      (*set)->ascii = set == &t.space_characters ? std::vector<uint32_t>{0, 1, 0, 0}
                                                 : std::vector<uint32_t>{0, 0x3FF0000, 0x7FFFFFE, 0x7FFFFFE};
    }
    t.decoder = std::make_unique<fbs::DecoderT>();
    t.decoder->bytes = fbs::ByteDecoding::Runs;
    t.decoder->separator = " ";
    t.decoder->continuing = "##";
    t.decoder->strip = " ";
    t.decoder->strip_count = 1;
    t.decoder->differs_at_end = true;
    t.decoder->replacements.push_back(std::make_unique<fbs::TokenReplaceT>());
    t.decoder->replacements[0]->pattern = pattern_of('h', 'h');
    t.decoder->replacements[0]->content = "H";
    flatbuffers::FlatBufferBuilder builder;
    fbs::FinishTextBuffer(builder, fbs::CreateText(builder, &text));
    write("tables", fbs::EnumNameTokenizerKind(kind),
          std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()));
  }
}

void hub() {
  const std::string sha(40, 'a'), end = "\x1e";
  const auto list = [&](const std::string& files) {
    return "200\n\n{\"sha\":\"" + sha + "\",\"siblings\":[" + files + "]}" + end;
  };
  const auto file = [&](const std::string& body) {
    const std::string size = std::to_string(body.size());
    return "200\netag:\"" + std::string(40, 'b') + "\"\ncontent-length:" + size + "\n\n" + end + "200\n\n" + body + end;
  };
  write("hub", "one_file", list("{\"rfilename\":\"model.safetensors\"}") + file("weights"));
  write("hub", "config",
        list("{\"rfilename\":\"config.json\"},{\"rfilename\":\"model.safetensors\"}") + file("{\"a\":1}") +
            "302\nx-linked-etag:cc\nx-linked-size:4\nlocation:/x\n\n" + end + "206\n\nwe" + end + "206\n\nig" + end);
  write("hub", "shards",
        list("{\"rfilename\":\"model.safetensors.index.json\"},{\"rfilename\":\"a/b.safetensors\"}") +
            file("{\"weight_map\":{\"x\":\"a/b.safetensors\"}}") + file("weights"));
  write("hub", "gone", std::string("404\nx-error-code:RevisionNotFound\n\n") + end);
}

void gguf() {
  GgufWriter file;
  file.text("general.architecture", "llama");
  for (const auto& [key, value] : {std::pair("block_count", 1u),
                                   {"embedding_length", 32u},
                                   {"context_length", 64u},
                                   {"feed_forward_length", 32u},
                                   {"attention.head_count", 2u},
                                   {"attention.head_count_kv", 1u}})
    file.number(std::string("llama.") + key, value);
  file.real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  file.text("tokenizer.ggml.model", "llama");
  file.texts("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "a"});
  file.numbers<float>("tokenizer.ggml.scores", 6, {0, 0, 0, -1});
  file.numbers<int32_t>("tokenizer.ggml.token_type", 5, {2, 3, 3, 1});
  file.flag("tokenizer.ggml.add_bos_token", true);
  file.text("tokenizer.chat_template", "{{ messages[0].content }}");
  const std::vector<float> norm(32, 1);
  file.tensor("output_norm.weight", {32}, norm);
  // Types by ggml's number, with elements and bytes of a block.
  constexpr struct {
    uint32_t type;
    int64_t elements;
    size_t bytes;
  } kTypes[] = {
      {GgufWriter::kF16, 1, 2}, {2, 32, 18},    {3, 32, 20},    {6, 32, 22},    {7, 32, 24}, {8, 32, 34}, {10, 256, 84},
      {11, 256, 110},           {12, 256, 144}, {13, 256, 176}, {14, 256, 210}, {30, 1, 2}};
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    const int64_t width = std::max<int64_t>(32, kTypes[i].elements);
    const size_t bytes = static_cast<size_t>(width / kTypes[i].elements) * kTypes[i].bytes;
    GgufWriter one = file;
    one.tensor("token_embd.weight", {1, width}, kTypes[i].type, std::string(bytes, static_cast<char>(0x35 + i)));
    write("gguf", "type" + std::to_string(kTypes[i].type), one.bytes());
  }
}

void quantized() {
  const char* const configs[] = {
      R"({"quantization_config":{"quant_method":"gptq","bits":4,"group_size":32,"desc_act":false,"sym":true}})",
      R"({"quantization_config":{"quant_method":"awq","bits":4,"group_size":32,"version":"gemm","zero_point":true}})",
      R"({"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":)"
      R"({"group_0":{"weights":{"num_bits":4,"type":"int","symmetric":true,"strategy":"channel"}}}}})",
      R"({"quantization_config":{"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":"nf4"}})",
      R"({"quantization_config":{"quant_method":"bitsandbytes","load_in_8bit":true}})",
      R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[2,2]}})",
      R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"FP8"}})"};
  for (size_t i = 0; i < std::size(configs); ++i)
    write("quantized", std::to_string(i), std::string(1, '\0') + configs[i]);
}

void checkpoints() {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"F16","shape":[3],"data_offsets":[24,30]},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[30,38]}})";
  const uint64_t length = header.size();
  write("safetensors", "three", std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(38, 'x'));
  write("index", "two_shards",
        R"({"metadata":{"total_size":48},"weight_map":{"a":"model-1.safetensors","b":"model-1.safetensors",)"
        R"("c":"model-2.safetensors"}})");
  write("tensorflowjs", "two_files",
        R"({"format":"layers-model","weightsManifest":[{"paths":["w1.bin","w2.bin"],"weights":[)"
        R"({"name":"a/kernel","shape":[2,3],"dtype":"float32"},{"name":"b","shape":[3],"dtype":"float32",)"
        R"("quantization":{"dtype":"uint8","scale":0.5,"min":-1}},{"name":"c","shape":[],"dtype":"int32"}]}]})");
  write("pickle", "list",
        std::string("\x80\x02]q\x00(K\x01X\x02\x00\x00\x00", 13) + "abccollections\nOrderedDict\n)Re.");
}

// For the tensors of tests/fuzz/fixture.cc.
void fixture() {
  float values[12];
  for (size_t i = 0; i < 12; ++i) values[i] = static_cast<float>(i % 8) / 8;
  write("fixture", "small",
        R"({"format":"parity-fixture/1","name":"small","arch":"a","library":{"name":"timm","version":"1"},"seed":3,)"
        R"("inputs":[{"name":"input","shape":[1,3,2,2],"stored":"full","sha256":")" +
            sha256_hex(std::as_bytes(std::span(values))) +
            R"("}],"taps":[{"name":"tap/a","shape":[1,2,2,2],"stored":"full","absmax":0.875}],)"
            R"("features_only":{"module":["a"],"shapes":[[1,8,4,4]]},)"
            R"("outputs":[{"name":"logits","shape":[1,80],"stored":"sample","samples":8,"absmax":0.875,)"
            R"("float32_vs_float64":1e-7}]})");
}

void texts() {
  write("text", "words", "the \xC3\xA9 he, the \xF0\x9F\x98\x80 th");
  write("reference", "hub", "hf:org/name@v1.0/folder/file.json");
  write("reference", "shape", "input=1x3x224x224");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  blobs();
  packed_weights();
  states();
  conversations();
  tokenizer();
  tables();
  hub();
  checkpoints();
  gguf();
  quantized();
  fixture();
  texts();
  return 0;
}
