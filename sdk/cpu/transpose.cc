#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/xnn.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {
namespace {

class Transpose : public XnnOp {
 public:
  explicit Transpose(const fbs::Transpose& params) : XnnOp(fbs::OpParams::Transpose), params_(params) {}

  Status create() {
    xnn_operator_t created = nullptr;
    const xnn_status status = xnn_create_transpose_nd_x32(/*flags=*/0, &created);
    return own(status, created);
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    *workspace = 0;
    Sizes x(inputs[0]);
    std::array<size_t, FERRY_MAX_RANK> perm{};
    for (size_t i = 0; i < x.rank; ++i) perm[i] = static_cast<size_t>(params_.perm()->Get(static_cast<unsigned>(i)));
    if (x.rank == 0) x.dims[x.rank++] = 1;
    return check(xnn_reshape_transpose_nd_x32(xnn_.get(), x.rank, x.dims.data(), perm.data(), as_xnnpack(pool)),
                 "reshaping");
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_transpose_nd_x32(xnn_.get(), inputs[0], output), "setting up");
  }

 private:
  const fbs::Transpose& params_;
};

}  // namespace

Status create_transpose(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  auto transpose = std::make_unique<Transpose>(*op.params_as_Transpose());
  FERRY_TRY(transpose->create());
  *out = std::move(transpose);
  return {};
}

}  // namespace ferry::cpu
