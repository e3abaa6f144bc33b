#include "sdk/operators/operators.h"

#include <algorithm>
#include <array>

namespace ferry {
namespace {

using Table = std::array<OperatorTraits, static_cast<size_t>(fbs::OpParams::MAX) + 1>;

constexpr Table kTable = [] {
  using Constants = OperatorTraits::Constants;
  using InPlace = OperatorTraits::InPlace;
  Table table{};
  table[0].name = "unknown";
#define FERRY_TRAITS(Type, plain_name, ...) \
  table[static_cast<size_t>(fbs::OpParams::Type)] = {.name = #plain_name, __VA_ARGS__};
  FERRY_OPERATORS(FERRY_TRAITS)
#undef FERRY_TRAITS
  return table;
}();

static_assert(std::none_of(kTable.begin(), kTable.end(), [](const OperatorTraits& t) { return t.name == nullptr; }),
              "an operator of the schema is not in the list of operators.h");

}  // namespace

const OperatorTraits& traits(fbs::OpParams type) {
  const size_t index = static_cast<size_t>(type);
  return kTable[index < kTable.size() ? index : 0];
}

bool is_weight(fbs::OpParams type, unsigned index) {
  if (has_weight(type)) return index == 1;
  return traits(type).constants == OperatorTraits::Constants::AfterThird && (index == 3 || index == 4);
}

bool takes_constant(fbs::OpParams type, unsigned index) {
  using Constants = OperatorTraits::Constants;
  const Constants constants = traits(type).constants;
  return index > 0 && (constants == Constants::AfterFirst || (constants == Constants::Weight && index <= 2) ||
                       (constants == Constants::AfterThird && index > 2));
}

uint32_t state_of(const fbs::Operator& op) {
#define FERRY_STATE_OF(Type, ...) \
  if (const auto* p = op.params_as_##Type()) return p->state();
  FERRY_OPERATORS_WITH_STATE(FERRY_STATE_OF)
#undef FERRY_STATE_OF
  return 0;
}

bool may_run_in_place(fbs::OpParams type, unsigned index) {
  const OperatorTraits::InPlace in_place = traits(type).in_place;
  return in_place == OperatorTraits::InPlace::Any || (in_place == OperatorTraits::InPlace::First && index == 0);
}

}  // namespace ferry
