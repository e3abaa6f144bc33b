#include "converter/tflite/file.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <set>

#include "converter/error.h"
#include "converter/suggest.h"
#include "converter/tflite/operators.h"

namespace ferry::tflite {
namespace {

constexpr size_t kIdentifierAt = 4;                  // after the offset of the root table
constexpr size_t kAlignment = 16;                    // of a flatbuffer's vectors
constexpr uint32_t kSchemaVersion = 3;               // since 2018; 3a to 3d are compatible
constexpr flatbuffers::voffset_t kBufferOffset = 6;  // field `offset` of Buffer, since version 3c

// Where a tensor's value comes from.
enum class Origin : uint8_t { Nowhere, Constant, Computed };

class Checker {
 public:
  explicit Checker(const File& file) : file_(file) {}

  void check() {
    if (file_.model->version() != kSchemaVersion)
      broken("it is of version %u of the schema, expected %u", file_.model->version(), kSchemaVersion);
    if (count(file_.model->subgraphs()) == 0) broken("it has no subgraph");
  }

  void check_graph() {
    check_buffers();
    for (const auto* list : {file_.graph->inputs(), file_.graph->outputs()})
      for (unsigned i = 0; i < count(list); ++i) check_tensor(list->Get(i), "an input or output of the graph");
    for (unsigned i = 0; i < count(file_.graph->inputs()); ++i) {
      Origin& origin = origins_[static_cast<size_t>(file_.graph->inputs()->Get(i))];
      if (origin != Origin::Nowhere) broken("input %u of the graph is a constant or another input, too", i);
      origin = Origin::Computed;
    }
    for (unsigned i = 0; i < count(file_.graph->operators()); ++i) check_operator(i);
    for (unsigned i = 0; i < count(file_.graph->outputs()); ++i)
      if (const int tensor = file_.graph->outputs()->Get(i); origins_[static_cast<size_t>(tensor)] == Origin::Nowhere)
        broken("output %u of the graph, '%s', is computed by no operator", i, file_.tensor_name(tensor).c_str());
  }

 private:
  [[noreturn, gnu::format(printf, 2, 3)]] void broken(const char* format, ...) const {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail("%s is damaged, or no .tflite file that can be read: %s", file_.mapped->path().c_str(), text);
  }

  void check_tensor(int index, const char* where) const {
    if (index < 0 || static_cast<unsigned>(index) >= count(file_.graph->tensors()))
      broken("%s is tensor %d of %u", where, index, count(file_.graph->tensors()));
  }

  void check_buffers() {
    const auto* buffers = file_.model->buffers();
    for (unsigned i = 0; i < count(file_.graph->tensors()); ++i) {
      const schema::Tensor& tensor = file_.tensor(static_cast<int>(i));
      if (tensor.buffer() >= std::max(count(buffers), 1u))
        broken("tensor %u has buffer %u of %u", i, tensor.buffer(), count(buffers));
      if (tensor.buffer() < count(buffers)) {
        const auto* table = reinterpret_cast<const flatbuffers::Table*>(buffers->Get(tensor.buffer()));
        if (table->GetOptionalFieldOffset(kBufferOffset) != 0)
          broken("constant '%s' lies outside of the flatbuffer", file_.tensor_name(static_cast<int>(i)).c_str());
      }
      origins_.push_back(file_.bytes(static_cast<int>(i)).empty() ? Origin::Nowhere : Origin::Constant);
    }
  }

  void check_operator(unsigned i) {
    const schema::Operator& op = *file_.graph->operators()->Get(i);
    if (op.opcode_index() >= count(file_.model->operator_codes()))
      broken("operator %u has code %u of %u", i, op.opcode_index(), count(file_.model->operator_codes()));
    const std::string name = "an input of operator " + std::to_string(i) + " (" + file_.operator_name(op) + ")";
    for (unsigned k = 0; k < count(op.inputs()); ++k) {
      const int input = op.inputs()->Get(k);
      if (input == -1) continue;  // optional
      check_tensor(input, name.c_str());
      const schema::Tensor& tensor = file_.tensor(input);
      // A variable keeps its value between runs; an empty constant has no bytes.
      if (origins_[static_cast<size_t>(input)] == Origin::Nowhere && !tensor.is_variable() && !has_no_elements(tensor))
        broken("%s, '%s', is computed by no operator before it", name.c_str(), file_.tensor_name(input).c_str());
    }
    for (unsigned k = 0; k < count(op.outputs()); ++k) {
      const int output = op.outputs()->Get(k);
      check_tensor(output, "an output of an operator");
      Origin& origin = origins_[static_cast<size_t>(output)];
      if (origin != Origin::Nowhere)
        broken("operator %u (%s) writes '%s', which is a constant, an input or another operator's output", i,
               file_.operator_name(op).c_str(), file_.tensor_name(output).c_str());
      origin = Origin::Computed;
    }
  }

  const File& file_;
  std::vector<Origin> origins_;
};

}  // namespace

std::string File::tensor_name(int index) const {
  const flatbuffers::String* name = tensor(index).name();
  return name != nullptr && name->size() > 0 ? name->str() : "tensor " + std::to_string(index);
}

const schema::OperatorCode& File::code(const schema::Operator& op) const {
  return *model->operator_codes()->Get(op.opcode_index());
}

schema::BuiltinOperator File::builtin(const schema::Operator& op) const {
  // Files from before version 3a have only the first.
  const auto old = static_cast<schema::BuiltinOperator>(code(op).deprecated_builtin_code());
  return std::max(old, code(op).builtin_code());
}

std::string File::operator_name(const schema::Operator& op) const {
  const schema::BuiltinOperator known = builtin(op);
  if (known == schema::BuiltinOperator::CUSTOM) {
    const flatbuffers::String* name = code(op).custom_code();
    return name != nullptr ? name->str() : "CUSTOM";
  }
  for (const LaterRow& row : later_operators())
    if (row.op == static_cast<int>(known)) return row.name;
  if (known < schema::BuiltinOperator::MIN || known > schema::BuiltinOperator::MAX)
    return "operator " + std::to_string(static_cast<int>(known));
  return schema::EnumNameBuiltinOperator(known);
}

std::span<const std::byte> File::bytes(int index) const {
  const uint32_t buffer = tensor(index).buffer();
  if (buffer >= count(model->buffers())) return {};
  const auto* data = model->buffers()->Get(buffer)->data();
  if (count(data) == 0) return {};
  return {reinterpret_cast<const std::byte*>(data->data()), data->size()};
}

bool has_no_elements(const schema::Tensor& tensor) {
  const auto* shape = tensor.shape();
  return shape != nullptr && std::find(shape->begin(), shape->end(), 0) != shape->end();
}

bool looks_like_tflite(std::span<const std::byte> bytes) {
  const char* identifier = schema::ModelIdentifier();
  const size_t length = std::strlen(identifier);
  return bytes.size() >= kIdentifierAt + length && std::memcmp(bytes.data() + kIdentifierAt, identifier, length) == 0;
}

File subgraph_of(const File& file, int index) {
  if (index < 0 || static_cast<unsigned>(index) >= count(file.model->subgraphs()))
    fail("it runs subgraph %d of %u", index, count(file.model->subgraphs()));
  File other = file;
  other.graph = file.model->subgraphs()->Get(static_cast<unsigned>(index));
  other.subgraph = index;
  Checker(other).check_graph();
  return other;
}

std::vector<std::string> networks_of(const File& file) {
  std::vector<std::string> names;
  std::set<uint32_t> subgraphs;
  const auto* all = file.model->signature_defs();
  for (unsigned i = 0; i < count(all); ++i) {
    const flatbuffers::String* key = all->Get(i)->signature_key();
    if (key == nullptr || key->size() == 0) continue;
    names.push_back(key->str());
    subgraphs.insert(all->Get(i)->subgraph_index());
  }
  return subgraphs.size() > 1 ? names : std::vector<std::string>();
}

const schema::SignatureDef* signature_of(const File& file) {
  const auto* all = file.model->signature_defs();
  for (unsigned i = 0; i < count(all); ++i)
    if (all->Get(i)->subgraph_index() == static_cast<uint32_t>(file.subgraph)) return all->Get(i);
  return nullptr;
}

namespace {

// The subgraph that is called `network`.
int index_of_network(const File& file, const std::string& network) {
  std::vector<std::string> names;
  const auto matches = [&](const flatbuffers::String* name) {
    if (name == nullptr || name->size() == 0) return false;
    names.push_back(name->str());
    return names.back() == network;
  };
  const auto* signatures = file.model->signature_defs();
  for (unsigned i = 0; i < count(signatures); ++i)
    if (matches(signatures->Get(i)->signature_key())) return static_cast<int>(signatures->Get(i)->subgraph_index());
  for (unsigned i = 0; i < count(file.model->subgraphs()); ++i)
    if (matches(file.model->subgraphs()->Get(i)->name())) return static_cast<int>(i);
  fail("--network %s: no network of %s is called so%s", network.c_str(), file.name().c_str(),
       did_you_mean(network, names).c_str());
}

}  // namespace

File open_file(const std::filesystem::path& path, const std::string& network) {
  auto mapped = MappedFile::open(path);
  const std::span<const std::byte> bytes = mapped->bytes();
  return open_part(std::move(mapped), bytes, network);
}

File open_part(std::shared_ptr<const MappedFile> mapped, std::span<const std::byte> bytes, const std::string& network) {
  const std::filesystem::path& path = mapped->path();
  File file;
  file.mapped = mapped;
  file.owner = mapped;
  if (!looks_like_tflite(bytes)) fail("%s is no .tflite file", path.c_str());
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) {
    const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    bytes = *copy;
    file.owner = copy;
  }
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) fail("%s has 2 GB or more: no flatbuffer is as long", path.c_str());
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!schema::VerifyModelBuffer(verifier))
    fail("%s is damaged: an offset or size in it leads out of the file, or it is truncated", path.c_str());
  file.model = schema::GetModel(data);
  Checker(file).check();
  return subgraph_of(file, network.empty() ? 0 : index_of_network(file, network));
}

}  // namespace ferry::tflite
