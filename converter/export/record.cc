#include "converter/export/record.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "converter/checkpoint/companions.h"
#include "converter/checkpoint/inside.h"
#include "converter/checkpoint/mapped_file.h"
#include "converter/checkpoint/mxfp4.h"
#include "converter/checkpoint/sha256.h"
#include "converter/export/constants.h"
#include "converter/export/deflate.h"
#include "converter/export/element_reader.h"
#include "converter/export/multiplied.h"
#include "converter/export/restore.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxSmallTensor = 4096;             // maximum bytes of a tensor that is stored without a search
constexpr size_t kMaxStoredBytes = size_t{1} << 16;  // bytes of large tensors that any blob may store
constexpr size_t kStoredFraction = 4;                // or 1/kStoredFraction of the blob's size
constexpr size_t kForgottenBytes = size_t{1} << 25;  // bytes that are compared before the blob's pages are released
constexpr size_t kMaxGapBytes = size_t{4} << 20;     // maximum bytes of a file outside of tensors: headers, names

std::optional<fbs::Element> element_of(ElementType type) {
  switch (type) {
    case ElementType::F64: return fbs::Element::F64;
    case ElementType::F32: return fbs::Element::F32;
    case ElementType::F16: return fbs::Element::F16;
    case ElementType::BF16: return fbs::Element::BF16;
    default: return {};
  }
}

// A tensor of a file, with its restoration.
struct Planned {
  const std::string* key;
  std::span<const std::byte> bytes;
  std::unique_ptr<fbs::NumbersT> numbers;  // null: stored
  std::vector<std::byte> kept;             // bytes that the Kept of `numbers` refer to
};

class Recorder {
 public:
  Recorder(const Converted& converted, const fbs::GraphT& table, const WrittenData& data, const Sink& sink)
      : converted_(converted),
        table_(table),
        data_(data.bytes),
        forget_data_(data.forget),
        sink_(sink),
        constants_(table, data) {}

  void record(bool all, const std::function<void(double)>& progress);

 private:
  using Tensor = std::pair<const std::string, CheckpointTensor>;
  // Calls `compared` with the bytes of each tensor.
  std::vector<Planned> plan(const Checkpoint::File& file, size_t* between,
                            const std::function<void(size_t)>& compared) const;
  Planned plan(const Tensor& tensor) const;
  ElementReader as_constants(const CheckpointTensor& tensor, const std::string& scales, bool half,
                             const fbs::NumbersT& numbers) const;
  void multiply(const CheckpointTensor& tensor, const ElementReader& wanted, Planned* planned) const;
  bool gives_back(const Planned& planned) const;
  Stored stored(std::span<const std::byte> kept) const;

  std::unique_ptr<fbs::KeptT> keep(std::span<const std::byte> bytes, bool deflate);
  void write(std::span<const std::byte> bytes);
  std::string sha256_of(const Checkpoint::File& file) const;
  std::unique_ptr<fbs::PartT> part_of(std::span<const std::byte> bytes, bool deflate);
  std::unique_ptr<fbs::FileT> file_of(const Checkpoint::File& file, const fs::path& folder,
                                      std::vector<Planned> tensors);
  void finish(const fbs::CheckpointT& checkpoint);

  const Converted& converted_;
  const fbs::GraphT& table_;
  std::span<const std::byte> data_;
  std::function<void()> forget_data_;
  const Sink& sink_;
  Constants constants_;
  uint64_t written_ = 0;
};

// A tensor in the order and type of the constants. Tensors whose dimensions are permuted are held whole.
ElementReader Recorder::as_constants(const CheckpointTensor& tensor, const std::string& scales, bool half,
                                     const fbs::NumbersT& numbers) const {
  const CheckpointTensor* exponents = scales.empty() ? nullptr : &converted_.checkpoint->tensors().at(scales);
  const size_t size = half ? sizeof(uint16_t) : sizeof(float);
  const size_t count = exponents ? exponents->bytes.size() * kMxfp4Block : static_cast<size_t>(tensor.elements());
  // Elements in the tensor's own order.
  const auto read = [this, tensor, exponents, half, size, buffer = std::vector<std::byte>(),
                     floats = std::vector<float>()](size_t at, size_t bytes) mutable -> std::span<const std::byte> {
    const size_t first = at / size, n = bytes / size;
    if (exponents != nullptr) {
      CheckpointTensor blocks = tensor, part = *exponents;
      blocks.bytes = blocks.bytes.subspan(first / 2, n / 2);
      part.bytes = part.bytes.subspan(first / kMxfp4Block, n / kMxfp4Block);
      floats = read_mxfp4(blocks, part);
      return std::as_bytes(std::span(floats));
    }
    const size_t stored = element_size(tensor.type);
    CheckpointTensor part = tensor;
    part.bytes = converted_.checkpoint->fetch(tensor.bytes.subspan(first * stored, n * stored), &buffer);
    if (half || tensor.type == ElementType::F32) return part.bytes;
    part.shape = {static_cast<int64_t>(n)};
    floats = part.to_floats();
    return std::as_bytes(std::span(floats));
  };
  if (std::is_sorted(numbers.perm.begin(), numbers.perm.end())) return {count * size, read};
  std::vector<std::byte> elements(count * size);
  const ElementReader whole(elements.size(), read);
  const std::span<const std::byte> all = whole.read_all();
  size_t to = 0;
  walk(to_permuted(numbers.seen, numbers.perm), [&](size_t i) {
    std::memcpy(&elements[to], &all[i * size], size);
    to += size;
  });
  return {elements.size(),
          [elements = std::move(elements)](size_t at, size_t) { return std::span(elements).subspan(at); }};
}

// The sources of restoration: the blob's buffers and these stored bytes.
Stored Recorder::stored(std::span<const std::byte> kept) const {
  return {.kept = kept,
          .segment =
              [this](uint32_t buffer) {
                return data_.subspan(table_.buffers[buffer]->offset, table_.buffers[buffer]->size);
              },
          .buffers = static_cast<uint32_t>(table_.buffers.size()),
          .bytes = data_.size(),
          .where = "the blob"};
}

// Whether `planned` restores its tensor's bytes.
bool Recorder::gives_back(const Planned& planned) const {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::CreateNumbers(builder, planned.numbers.get()));
  const auto& numbers = *flatbuffers::GetRoot<fbs::Numbers>(builder.GetBufferPointer());
  const Stored from = stored(planned.kept);
  bool same = true;
  size_t at = 0;
  try {
    if (restored_size(numbers, from) != planned.bytes.size()) return false;
    std::vector<std::byte> buffer;
    restore(numbers, from, [&](std::span<const std::byte> part) {
      for (size_t n; !part.empty(); part = part.subspan(n), at += n) {
        n = std::min(part.size(), ElementReader::kAtOnce);
        const auto original = converted_.checkpoint->fetch(planned.bytes.subspan(at, n), &buffer);
        same = same && std::memcmp(part.data(), original.data(), n) == 0;
        if ((at + n) / kForgottenBytes > at / kForgottenBytes) forget_data_();
      }
    });
  } catch (const Error&) {
    return false;  // larger than the blob
  }
  return same;
}

std::unique_ptr<fbs::KeptT> append(std::span<const std::byte> bytes, uint64_t size, bool deflated,
                                   std::vector<std::byte>* to) {
  auto kept = std::make_unique<fbs::KeptT>();
  kept->offset = to->size();
  kept->stored = bytes.size();
  kept->size = size;
  kept->deflated = deflated;
  to->insert(to->end(), bytes.begin(), bytes.end());
  return kept;
}

// Stores the differences between the nearest derived elements and the tensor, if the constants hold it multiplied.
void Recorder::multiply(const CheckpointTensor& tensor, const ElementReader& wanted, Planned* planned) const {
  fbs::NumbersT& numbers = *planned->numbers;
  if (numbers.perm.size() < 2) return;
  size_t rows = 1;
  for (size_t i = 0; i < 2 && rows == 1; ++i) rows *= static_cast<size_t>(numbers.seen[numbers.perm[i]]);
  const auto columns = static_cast<size_t>(numbers.seen[numbers.perm.back()]);
  auto found = find_multiplied(constants_, *planned->key, wanted, rows, columns);
  if (!found) return;
  numbers.runs = std::move(found->runs);
  for (auto [factors, kept] : {std::pair(&found->rows, &numbers.rows), std::pair(&found->columns, &numbers.columns)})
    if (!factors->empty()) {
      const auto bytes = std::as_bytes(std::span(*factors));
      *kept = append(bytes, bytes.size(), /*deflated=*/false, &planned->kept);
    }
  // First restores without differences.
  flatbuffers::FlatBufferBuilder builder;
  fbs::NumbersT nearest = numbers;
  for (size_t i = 0; i < nearest.seen.size(); ++i) {  // in the order of the constants
    nearest.seen[i] = numbers.seen[numbers.perm[i]];
    nearest.perm[i] = static_cast<uint8_t>(i);
  }
  builder.Finish(fbs::CreateNumbers(builder, &nearest));
  std::vector<std::byte> near;
  near.reserve(planned->bytes.size());
  restore(*flatbuffers::GetRoot<fbs::Numbers>(builder.GetBufferPointer()), stored(planned->kept),
          [&near](std::span<const std::byte> part) { near.insert(near.end(), part.begin(), part.end()); });
  forget_data_();
  const size_t bytes = near.size();
  const std::vector<std::byte> deflation = deflated_differences(tensor.bytes, to_permuted(numbers.seen, numbers.perm),
                                                                size_of(numbers.element), std::move(near));
  converted_.checkpoint->forget(tensor.bytes);
  numbers.differences = append(deflation, bytes, /*deflated=*/true, &planned->kept);
  if (planned->kept.size() > planned->bytes.size() / 2) numbers.runs.clear();
}

Planned Recorder::plan(const Tensor& tensor) const {
  const auto& [key, stored] = tensor;
  Planned out{.key = &key, .bytes = stored.bytes, .numbers = nullptr, .kept = {}};
  if (stored.encoding || stored.scales) return out;  // values do not determine the bytes
  fbs::NumbersT numbers;
  numbers.name = key;
  const auto reading = converted_.readings.find(key);
  std::string scales;
  if (reading != converted_.readings.end()) {
    for (int i = 0; i < reading->second.seen.rank; ++i) numbers.seen.push_back(reading->second.seen[i]);
    numbers.perm.assign(reading->second.perm.begin(), reading->second.perm.end());
    scales = reading->second.scales;
  } else {
    for (const int64_t d : stored.shape) {
      numbers.perm.push_back(static_cast<uint8_t>(numbers.perm.size()));
      numbers.seen.push_back(static_cast<int32_t>(d));
      if (d > INT32_MAX || numbers.perm.size() > FERRY_MAX_RANK) return out;
    }
  }
  const std::optional<fbs::Element> element = scales.empty() ? element_of(stored.type) : fbs::Element::U8;
  if (!element) return out;
  numbers.element = *element;
  std::vector<int32_t> dims;
  for (const uint8_t p : numbers.perm) dims.push_back(numbers.seen[p]);
  const ElementReader wanted = as_constants(stored, scales, /*half=*/false, numbers);
  // Mostly a constant holds the whole tensor: restoring it compares them once.
  if (const auto run = scales.empty() ? constants_.first_like(wanted, /*half=*/false) : std::nullopt) {
    out.numbers = std::make_unique<fbs::NumbersT>(numbers);
    out.numbers->runs = {*run};
    if (gives_back(out)) return out;
  }
  numbers.runs = constants_.find(wanted, /*half=*/false, row_bytes(dims, sizeof(float)));
  if (numbers.runs.empty() && stored.type == ElementType::F16) {
    numbers.half = true;
    numbers.runs = constants_.find(as_constants(stored, scales, /*half=*/true, numbers), /*half=*/true,
                                   row_bytes(dims, sizeof(uint16_t)));
  }
  out.numbers = std::make_unique<fbs::NumbersT>(numbers);
  if (!scales.empty()) {
    const std::span<const std::byte> exponents = converted_.checkpoint->tensors().at(scales).bytes;
    out.numbers->scales = append(exponents, exponents.size(), /*deflated=*/false, &out.kept);
  } else if (numbers.runs.empty()) {
    out.numbers->half = false;
    multiply(stored, wanted, &out);
  }
  if (out.numbers->runs.empty() || !gives_back(out)) {
    out.numbers.reset();
    out.kept.clear();
  }
  return out;
}

// The large tensors of a file in order, and the number of bytes outside of any tensor.
std::vector<Planned> Recorder::plan(const Checkpoint::File& file, size_t* between,
                                    const std::function<void(size_t)>& compared) const {
  std::vector<const Tensor*> inside;
  for (const Tensor& tensor : converted_.checkpoint->tensors()) {
    const std::span<const std::byte> bytes = tensor.second.bytes;
    const std::less_equal<const std::byte*> before;
    if (!bytes.empty() && before(file.bytes.data(), bytes.data()) &&
        before(bytes.data() + bytes.size(), file.bytes.data() + file.bytes.size()))
      inside.push_back(&tensor);
  }
  std::sort(inside.begin(), inside.end(),
            [](const Tensor* a, const Tensor* b) { return a->second.bytes.data() < b->second.bytes.data(); });
  std::vector<Planned> out;
  const std::byte* end = file.bytes.data();
  *between = file.bytes.size();
  for (const Tensor* tensor : inside) {
    const std::span<const std::byte> bytes = tensor->second.bytes;
    if (bytes.data() < end) continue;  // PyTorch's tensors may share memory
    end = bytes.data() + bytes.size();
    *between -= bytes.size();
    if (bytes.size() <= kMaxSmallTensor) continue;
    out.push_back(plan(*tensor));
    compared(bytes.size());
    converted_.checkpoint->forget(bytes);
    forget_data_();
  }
  return out;
}

void Recorder::write(std::span<const std::byte> bytes) {
  sink_(bytes);
  written_ += bytes.size();
}

std::unique_ptr<fbs::KeptT> Recorder::keep(std::span<const std::byte> bytes, bool deflate) {
  auto kept = std::make_unique<fbs::KeptT>();
  kept->offset = written_;
  kept->size = bytes.size();
  kept->deflated = deflate;
  write(deflate ? std::span<const std::byte>(deflated(bytes, Content::Text)) : bytes);
  kept->stored = written_ - kept->offset;
  return kept;
}

std::unique_ptr<fbs::PartT> Recorder::part_of(std::span<const std::byte> bytes, bool deflate) {
  auto part = std::make_unique<fbs::PartT>();
  part->kept = keep(bytes, deflate);
  return part;
}

std::string Recorder::sha256_of(const Checkpoint::File& file) const {
  const std::vector<Checkpoint::File> files = converted_.checkpoint->files();
  if (files.size() == 1 && files[0].bytes.data() == file.bytes.data() && table_.provenance)
    return table_.provenance->source_sha256;
  Sha256 hash;
  constexpr size_t kHashedAtOnce = size_t{1} << 20;
  std::vector<std::byte> buffer;
  for (size_t at = 0; at < file.bytes.size(); at += kHashedAtOnce) {
    const auto part = file.bytes.subspan(at, std::min(kHashedAtOnce, file.bytes.size() - at));
    hash.update(converted_.checkpoint->fetch(part, &buffer));
  }
  return hash.hex();
}

std::unique_ptr<fbs::FileT> Recorder::file_of(const Checkpoint::File& file, const fs::path& folder,
                                              std::vector<Planned> tensors) {
  auto out = std::make_unique<fbs::FileT>();
  out->name = file.path.lexically_relative(folder).generic_string();
  out->size = file.bytes.size();
  out->sha256 = sha256_of(file);
  size_t at = 0;
  const auto until = [&](size_t end) {
    if (end > at) out->parts.push_back(part_of(file.bytes.subspan(at, end - at), /*deflate=*/true));
    at = end;
  };
  for (Planned& planned : tensors) {
    until(static_cast<size_t>(planned.bytes.data() - file.bytes.data()));
    at += planned.bytes.size();
    if (!planned.numbers) {
      out->parts.push_back(part_of(planned.bytes, /*deflate=*/false));
      continue;
    }
    for (fbs::KeptT* kept : {planned.numbers->rows.get(), planned.numbers->columns.get(),
                             planned.numbers->differences.get(), planned.numbers->scales.get()})
      if (kept != nullptr) kept->offset += written_;
    write(planned.kept);
    auto part = std::make_unique<fbs::PartT>();
    part->numbers = std::move(planned.numbers);
    out->parts.push_back(std::move(part));
  }
  until(file.bytes.size());
  return out;
}

void Recorder::finish(const fbs::CheckpointT& checkpoint) {
  flatbuffers::FlatBufferBuilder builder;
  fbs::FinishCheckpointBuffer(builder, fbs::CreateCheckpoint(builder, &checkpoint));
  constexpr size_t kAligned = sizeof(uint64_t);
  write(std::vector<std::byte>((kAligned - written_ % kAligned) % kAligned));
  const uint64_t size = builder.GetSize();
  write(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  write(std::as_bytes(std::span(&size, 1)));
}

void Recorder::record(bool all, const std::function<void(double)>& progress) {
  const std::vector<Checkpoint::File> files = converted_.checkpoint->files();
  std::vector<std::vector<Planned>> tensors;
  fbs::CheckpointT out;
  size_t largest = 0, added = 0, done = 0, total = 0;
  for (const Checkpoint::File& file : files) total += file.bytes.size();
  const auto compared = [&](size_t bytes) {
    done += bytes;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(total));
  };
  const auto lose = [&](const std::string& what, size_t bytes) {
    out.lost_bytes += bytes;
    if (bytes > largest) out.lost = what;
    largest = std::max(largest, bytes);
  };
  for (const Checkpoint::File& file : files) {
    size_t between = 0;
    tensors.push_back(plan(file, &between, compared));
    if (between > kMaxGapBytes) lose(file.path.filename(), between);  // other training state
    for (const Planned& planned : tensors.back()) {
      if (!planned.numbers)
        lose(*planned.key, planned.bytes.size());
      else if (!planned.numbers->scales)
        added += planned.kept.size();
    }
  }
  if (!all && out.lost_bytes > 0 && out.lost_bytes + added > std::max(kMaxStoredBytes, data_.size() / kStoredFraction))
    return finish(out);
  out.lost.clear();
  out.lost_bytes = 0;
  const fs::path folder = converted_.checkpoint->path().parent_path();
  std::vector<std::string> names;
  for (size_t i = 0; i < files.size(); ++i) {
    out.files.push_back(file_of(files[i], folder, std::move(tensors[i])));
    names.push_back(out.files.back()->name);
  }
  std::vector<fs::path> beside(kCheckpointCompanions.begin(), kCheckpointCompanions.end());
  // a vocabulary size: llama2.c's tokenizer files are named by it
  for (const auto& [key, tensor] : converted_.checkpoint->tensors())
    if (tensor.shape.size() == 2) beside.push_back("tok" + std::to_string(tensor.shape[0]) + ".bin");
  for (const fs::path& name : beside) {
    std::error_code none;
    if (std::find(names.begin(), names.end(), name) != names.end() || !fs::is_regular_file(folder / name, none))
      continue;
    check_inside(folder, folder / name);
    const auto file = MappedFile::open(folder / name);
    out.files.push_back(file_of({file->path(), file->bytes()}, folder, {}));
    names.push_back(name);
  }
  finish(out);
}

}  // namespace

void record_checkpoint(const Converted& converted, bool all, const fbs::GraphT& table, const WrittenData& data,
                       const Sink& sink, const std::function<void(double)>& progress) {
  Recorder(converted, table, data, sink).record(all, progress);
}

}  // namespace ferry
