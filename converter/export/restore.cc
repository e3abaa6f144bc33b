#include "converter/export/restore.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "converter/checkpoint/mxfp4.h"
#include "converter/error.h"
#include "converter/export/deflate.h"
#include "converter/graph/float16.h"
#include "sdk/model/elements.h"

namespace ferry {
namespace {

constexpr size_t kMaxRank = 8;

// Throws Error unless `numbers` refers to existing elements of the blob, exactly as many as needed.
struct Checked {
  Checked(const fbs::Numbers& numbers, const Stored& stored);

  std::vector<int32_t> seen;
  std::vector<uint8_t> perm;
  uint64_t count = 1;   // number of elements
  size_t run_size = 0;  // size of an element in the runs
};

[[noreturn]] void refuse(const fbs::Numbers& numbers, const Stored& stored, const char* what) {
  fail("%s: tensor '%.200s' of its checkpoint: %s", stored.where, numbers.name() ? numbers.name()->c_str() : "", what);
}

Checked::Checked(const fbs::Numbers& n, const Stored& stored) {
  if (n.seen()) seen.assign(n.seen()->begin(), n.seen()->end());
  if (n.perm()) perm.assign(n.perm()->begin(), n.perm()->end());
  run_size = n.half() ? sizeof(uint16_t) : sizeof(float);
  if (n.element() > fbs::Element::MAX || seen.size() > kMaxRank || perm.size() != seen.size())
    refuse(n, stored, "of an unknown form");
  std::vector<bool> met(perm.size());
  for (const uint8_t p : perm) {
    if (p >= met.size() || met[p]) refuse(n, stored, "its dimensions are not permuted");
    met[p] = true;
  }
  for (const int32_t d : seen) {
    if (d < 1 || __builtin_mul_overflow(count, static_cast<uint64_t>(d), &count) || count > stored.bytes)
      refuse(n, stored, "larger than the blob");
  }
  if (count > stored.bytes / run_size) refuse(n, stored, "larger than the blob");
  uint64_t bytes = 0;
  for (size_t i = 0; n.runs() != nullptr && i < n.runs()->size(); ++i) {
    const fbs::Run& run = *n.runs()->Get(static_cast<unsigned>(i));
    if (run.buffer() == 0 || run.buffer() >= stored.buffers) refuse(n, stored, "in a buffer that does not exist");
    const uint64_t size = stored.segment(run.buffer()).size();
    if (run.offset() > size || run.bytes() > size - run.offset() || run.bytes() % run_size != 0)
      refuse(n, stored, "outside of its buffer");
    if (run.bytes() > count * run_size - bytes) refuse(n, stored, "of too many elements");
    bytes += run.bytes();
  }
  if (bytes != count * run_size) refuse(n, stored, "not whole");
  for (const fbs::Kept* kept : {n.rows(), n.columns()})
    if (kept && (kept->size() < sizeof(float) || kept->size() % sizeof(float) != 0 ||
                 count % (kept->size() / sizeof(float)) != 0))
      refuse(n, stored, "multiplied by another number of factors");
  const bool blocks = n.element() == fbs::Element::U8;
  if (blocks != (n.scales() != nullptr) || (blocks && count % kMxfp4Block != 0))
    refuse(n, stored, "neither numbers nor MXFP4");
  if (n.scales() && (n.rows() || n.columns() || n.differences())) refuse(n, stored, "both MXFP4 and multiplied");
}

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Buffers output for the sink.
class Output {
 public:
  explicit Output(const Sink& sink) : sink_(sink), bytes_(kAtOnce + sizeof(uint64_t)) {}
  void put(uint64_t bits, size_t size) {
    std::memcpy(bytes_.data() + used_, &bits, sizeof bits);  // a copy of constant size is one instruction
    used_ += size;
    if (used_ >= kAtOnce) end();
  }
  void end() {
    sink_({bytes_.data(), used_});
    used_ = 0;
  }

 private:
  static constexpr size_t kAtOnce = 1 << 16;
  const Sink& sink_;
  std::vector<std::byte> bytes_;
  size_t used_ = 0;
};

uint64_t rounded(double value, fbs::Element element) {
  switch (element) {
    case fbs::Element::F64: return std::bit_cast<uint64_t>(value);
    case fbs::Element::F32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case fbs::Element::F16: return to_float16(value);
    case fbs::Element::BF16: return to_bfloat16(value);
    case fbs::Element::U8: break;
  }
  return 0;
}

// Rounds float32 elements to float16 or bfloat16.
void narrow(std::span<const std::byte> floats, fbs::Element element, const Sink& sink) {
  std::vector<std::byte> part;
  constexpr size_t kRounded = size_t{1} << 18;  // bytes
  for (size_t n; !floats.empty(); floats = floats.subspan(n)) {
    n = std::min(floats.size(), kRounded);
    part.resize(n / sizeof(float) * sizeof(uint16_t));
    if (element == fbs::Element::F16)
      to_float16(floats.first(n), part.data());
    else
      to_bfloat16(floats.first(n), part.data());
    sink(part);
  }
}

// The E2M1 bits of `value` in a block with that exponent.
unsigned mxfp4_bits(float value, int exponent) {
  static constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const float magnitude = std::ldexp(std::fabs(value), -exponent);
  const auto* found = std::lower_bound(std::begin(kMagnitudes), std::end(kMagnitudes) - 1, magnitude);
  return static_cast<unsigned>(found - std::begin(kMagnitudes)) | (std::signbit(value) ? 8u : 0u);
}

std::vector<float> factors(const fbs::Kept* kept, const Stored& stored) {
  if (kept == nullptr) return {};
  const std::vector<std::byte> bytes = read_kept(kept, kept->size(), stored);
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

size_t size_of(fbs::Element element) {
  switch (element) {
    case fbs::Element::F64: return 8;
    case fbs::Element::F32: return 4;
    case fbs::Element::F16:
    case fbs::Element::BF16: return 2;
    case fbs::Element::U8: return 1;
  }
  return 0;
}

Walk to_permuted(const std::vector<int32_t>& dims, const std::vector<uint8_t>& perm) {
  std::vector<int64_t> own(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) own[i - 1] = own[i] * dims[i];
  Walk way;
  for (const uint8_t p : perm) {
    way.dims.push_back(dims[p]);
    way.steps.push_back(own[p]);
  }
  return way;
}

Walk from_permuted(const std::vector<int32_t>& dims, const std::vector<uint8_t>& perm) {
  Walk way{{dims.begin(), dims.end()}, std::vector<int64_t>(dims.size())};
  int64_t step = 1;
  for (size_t i = perm.size(); i-- > 0; step *= dims[perm[i]]) way.steps[perm[i]] = step;
  return way;
}

std::span<const std::byte> kept_bytes(const fbs::Kept& kept, const Stored& stored) {
  if (kept.offset() > stored.kept.size() || kept.stored() > stored.kept.size() - kept.offset() ||
      (!kept.deflated() && kept.stored() != kept.size()))
    fail("%s: stored parts of its checkpoint are outside of its buffer", stored.where);
  return stored.kept.subspan(kept.offset(), kept.stored());
}

std::vector<std::byte> read_kept(const fbs::Kept* kept, uint64_t size, const Stored& stored) {
  if (kept == nullptr || kept->size() != size)
    fail("%s: a stored part of its checkpoint has another size than its tensor", stored.where);
  const std::span<const std::byte> bytes = kept_bytes(*kept, stored);
  if (!kept->deflated()) return {bytes.begin(), bytes.end()};
  std::vector<std::byte> out;
  inflate_to(bytes, size, stored.where,
             [&out](std::span<const std::byte> part) { out.insert(out.end(), part.begin(), part.end()); });
  return out;
}

uint64_t restored_size(const fbs::Numbers& numbers, const Stored& stored) {
  const uint64_t count = Checked(numbers, stored).count;
  return numbers.element() == fbs::Element::U8 ? count / 2 : count * size_of(numbers.element());
}

void restore(const fbs::Numbers& numbers, const Stored& stored, const Sink& sink) {
  const Checked checked(numbers, stored);
  const fbs::Element element = numbers.element();
  const bool half = numbers.half();
  const bool in_order = std::is_sorted(checked.perm.begin(), checked.perm.end());
  const bool multiplied = numbers.rows() || numbers.columns();
  const bool as_they_lie =
      element == (half ? fbs::Element::F16 : fbs::Element::F32) && !multiplied && !numbers.differences();
  const auto of = [&](const fbs::Run& run) { return stored.segment(run.buffer()).subspan(run.offset(), run.bytes()); };
  // Calls `visit` for each element of the tensor, in its order, with its bytes and its index among the constants.
  const auto each = [&](const auto& visit) {
    if (in_order) {
      size_t i = 0;
      for (const fbs::Run* run : *numbers.runs()) {
        const std::span<const std::byte> elements = of(*run);
        for (size_t at = 0; at < elements.size(); at += checked.run_size) visit(&elements[at], i++);
      }
      return;
    }
    std::vector<std::byte> gathered;
    std::span<const std::byte> elements = of(*numbers.runs()->Get(0));
    if (numbers.runs()->size() > 1) {
      for (const fbs::Run* run : *numbers.runs()) gathered.insert(gathered.end(), of(*run).begin(), of(*run).end());
      elements = gathered;
    }
    walk(from_permuted(checked.seen, checked.perm), [&](size_t i) { visit(&elements[i * checked.run_size], i); });
  };
  if (as_they_lie && in_order) {
    for (const fbs::Run* run : *numbers.runs()) sink(of(*run));
    return;
  }
  const bool narrowed = element == fbs::Element::F16 || element == fbs::Element::BF16;
  if (narrowed && in_order && !half && !multiplied && !numbers.differences()) {
    for (const fbs::Run* run : *numbers.runs()) narrow(of(*run), element, sink);
    return;
  }
  const auto value = [&](const std::byte* from) {
    return half ? from_float16(load<uint16_t>(from)) : load<float>(from);
  };
  Output output(sink);
  if (element == fbs::Element::U8) {
    const std::vector<std::byte> scales = read_kept(numbers.scales(), checked.count / kMxfp4Block, stored);
    size_t at = 0;
    unsigned lower = 0;
    each([&](const std::byte* from, size_t) {
      const unsigned bits = mxfp4_bits(value(from), std::to_integer<int>(scales[at / kMxfp4Block]) - 127);
      if (at++ % 2 == 0)
        lower = bits;
      else
        output.put(lower | bits << 4, 1);
    });
    return output.end();
  }
  const size_t size = size_of(element);
  const std::vector<float> rows = factors(numbers.rows(), stored), columns = factors(numbers.columns(), stored);
  const uint64_t row = checked.count / std::max<size_t>(rows.size(), 1);
  std::vector<std::byte> differences;
  if (numbers.differences()) differences = read_kept(numbers.differences(), checked.count * size, stored);
  each([&](const std::byte* from, size_t i) {
    if (as_they_lie) return output.put(half ? load<uint16_t>(from) : load<uint32_t>(from), size);
    double number = value(from);
    if (!rows.empty()) number /= rows[i / row];
    if (!columns.empty()) number /= columns[i % columns.size()];
    uint64_t bits = rounded(number, element);
    if (!differences.empty()) {
      uint64_t difference = 0;
      for (size_t plane = 0; plane < size; ++plane)
        difference |= std::to_integer<uint64_t>(differences[plane * checked.count + i]) << (8 * plane);
      bits += difference >> 1 ^ (~(difference & 1) + 1);
    }
    output.put(bits, size);
  });
  output.end();
}

}  // namespace ferry
