// XNNPACK's loops on our pool. XNNPACK calls pthreadpool's functions. In its archive they are renamed
// (cmake/xnnpack_threads.syms), so that they do not clash with an app's own pthreadpool. Its pools are Pool objects:
// as_xnnpack().
#include "sdk/threads/xnnpack.h"

#include "sdk/threads/loops.h"

namespace ferry {
namespace {

Pool* pool_of(pthreadpool_t pool) { return reinterpret_cast<Pool*>(pool); }

}  // namespace

pthreadpool_t as_xnnpack(Pool* pool) { return reinterpret_cast<pthreadpool_t>(pool); }

// Signatures as in pthreadpool.h. Every loop flushes denormals; XNNPACK always sets that flag.
extern "C" {

size_t ferrypool_get_threads_count(pthreadpool_t pool) { return pool != nullptr ? pool_of(pool)->threads() : 1; }

void ferrypool_parallelize_1d(pthreadpool_t pool, pthreadpool_task_1d_t task, void* context, size_t range, uint32_t) {
  parallel(pool_of(pool), Grid<1, 0>{{range}}, [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_1d_with_thread(pthreadpool_t pool, pthreadpool_task_1d_with_thread_t task, void* context,
                                          size_t range, uint32_t) {
  parallel(pool_of(pool), Grid<1, 0>{{range}},
           [=](Pool::Share& share, auto... at) { task(context, share.thread(), at...); });
}

void ferrypool_parallelize_1d_tile_1d(pthreadpool_t pool, pthreadpool_task_1d_tile_1d_t task, void* context,
                                      size_t range, size_t tile, uint32_t) {
  parallel(pool_of(pool), Grid<1, 1>{{range}, {tile}}, [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_2d(pthreadpool_t pool, pthreadpool_task_2d_t task, void* context, size_t i, size_t j,
                              uint32_t) {
  parallel(pool_of(pool), Grid<2, 0>{{i, j}}, [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_2d_with_thread(pthreadpool_t pool, pthreadpool_task_2d_with_thread_t task, void* context,
                                          size_t i, size_t j, uint32_t) {
  parallel(pool_of(pool), Grid<2, 0>{{i, j}},
           [=](Pool::Share& share, auto... at) { task(context, share.thread(), at...); });
}

void ferrypool_parallelize_2d_tile_1d(pthreadpool_t pool, pthreadpool_task_2d_tile_1d_t task, void* context, size_t i,
                                      size_t j, size_t tile_j, uint32_t) {
  parallel(pool_of(pool), Grid<2, 1>{{i, j}, {tile_j}}, [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_2d_tile_2d(pthreadpool_t pool, pthreadpool_task_2d_tile_2d_t task, void* context, size_t i,
                                      size_t j, size_t tile_i, size_t tile_j, uint32_t) {
  parallel(pool_of(pool), Grid<2, 2>{{i, j}, {tile_i, tile_j}},
           [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_3d(pthreadpool_t pool, pthreadpool_task_3d_t task, void* context, size_t i, size_t j,
                              size_t k, uint32_t) {
  parallel(pool_of(pool), Grid<3, 0>{{i, j, k}}, [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_3d_tile_1d(pthreadpool_t pool, pthreadpool_task_3d_tile_1d_t task, void* context, size_t i,
                                      size_t j, size_t k, size_t tile_k, uint32_t) {
  parallel(pool_of(pool), Grid<3, 1>{{i, j, k}, {tile_k}}, [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_3d_tile_1d_with_thread(pthreadpool_t pool, pthreadpool_task_3d_tile_1d_with_thread_t task,
                                                  void* context, size_t i, size_t j, size_t k, size_t tile_k,
                                                  uint32_t) {
  parallel(pool_of(pool), Grid<3, 1>{{i, j, k}, {tile_k}},
           [=](Pool::Share& share, auto... at) { task(context, share.thread(), at...); });
}

void ferrypool_parallelize_3d_tile_2d(pthreadpool_t pool, pthreadpool_task_3d_tile_2d_t task, void* context, size_t i,
                                      size_t j, size_t k, size_t tile_j, size_t tile_k, uint32_t) {
  parallel(pool_of(pool), Grid<3, 2>{{i, j, k}, {tile_j, tile_k}},
           [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_4d(pthreadpool_t pool, pthreadpool_task_4d_t task, void* context, size_t i, size_t j,
                              size_t k, size_t l, uint32_t) {
  parallel(pool_of(pool), Grid<4, 0>{{i, j, k, l}}, [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_4d_tile_2d(pthreadpool_t pool, pthreadpool_task_4d_tile_2d_t task, void* context, size_t i,
                                      size_t j, size_t k, size_t l, size_t tile_k, size_t tile_l, uint32_t) {
  parallel(pool_of(pool), Grid<4, 2>{{i, j, k, l}, {tile_k, tile_l}},
           [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_5d(pthreadpool_t pool, pthreadpool_task_5d_t task, void* context, size_t i, size_t j,
                              size_t k, size_t l, size_t m, uint32_t) {
  parallel(pool_of(pool), Grid<5, 0>{{i, j, k, l, m}}, [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_5d_tile_2d(pthreadpool_t pool, pthreadpool_task_5d_tile_2d_t task, void* context, size_t i,
                                      size_t j, size_t k, size_t l, size_t m, size_t tile_l, size_t tile_m, uint32_t) {
  parallel(pool_of(pool), Grid<5, 2>{{i, j, k, l, m}, {tile_l, tile_m}},
           [=](Pool::Share&, auto... at) { task(context, at...); });
}

void ferrypool_parallelize_6d_tile_2d(pthreadpool_t pool, pthreadpool_task_6d_tile_2d_t task, void* context, size_t i,
                                      size_t j, size_t k, size_t l, size_t m, size_t n, size_t tile_m, size_t tile_n,
                                      uint32_t) {
  parallel(pool_of(pool), Grid<6, 2>{{i, j, k, l, m, n}, {tile_m, tile_n}},
           [=](Pool::Share&, auto... at) { task(context, at...); });
}

// For ARM machines with several kinds of cores: selects the kernel by the core that runs the thread.

void ferrypool_parallelize_2d_tile_1d_with_uarch(pthreadpool_t pool, pthreadpool_task_2d_tile_1d_with_id_t task,
                                                 void* context, uint32_t otherwise, uint32_t maximum, size_t i,
                                                 size_t j, size_t tile_j, uint32_t) {
  parallel(pool_of(pool), Grid<2, 1>{{i, j}, {tile_j}},
           [=](Pool::Share& share, auto... at) { task(context, share.core_kind(otherwise, maximum), at...); });
}

void ferrypool_parallelize_2d_tile_2d_with_uarch(pthreadpool_t pool, pthreadpool_task_2d_tile_2d_with_id_t task,
                                                 void* context, uint32_t otherwise, uint32_t maximum, size_t i,
                                                 size_t j, size_t tile_i, size_t tile_j, uint32_t) {
  parallel(pool_of(pool), Grid<2, 2>{{i, j}, {tile_i, tile_j}},
           [=](Pool::Share& share, auto... at) { task(context, share.core_kind(otherwise, maximum), at...); });
}

void ferrypool_parallelize_3d_tile_1d_with_uarch(pthreadpool_t pool, pthreadpool_task_3d_tile_1d_with_id_t task,
                                                 void* context, uint32_t otherwise, uint32_t maximum, size_t i,
                                                 size_t j, size_t k, size_t tile_k, uint32_t) {
  parallel(pool_of(pool), Grid<3, 1>{{i, j, k}, {tile_k}},
           [=](Pool::Share& share, auto... at) { task(context, share.core_kind(otherwise, maximum), at...); });
}

void ferrypool_parallelize_3d_tile_1d_with_uarch_with_thread(pthreadpool_t pool,
                                                             pthreadpool_task_3d_tile_1d_with_id_with_thread_t task,
                                                             void* context, uint32_t otherwise, uint32_t maximum,
                                                             size_t i, size_t j, size_t k, size_t tile_k, uint32_t) {
  parallel(pool_of(pool), Grid<3, 1>{{i, j, k}, {tile_k}}, [=](Pool::Share& share, auto... at) {
    task(context, share.core_kind(otherwise, maximum), share.thread(), at...);
  });
}

void ferrypool_parallelize_3d_tile_2d_with_uarch(pthreadpool_t pool, pthreadpool_task_3d_tile_2d_with_id_t task,
                                                 void* context, uint32_t otherwise, uint32_t maximum, size_t i,
                                                 size_t j, size_t k, size_t tile_j, size_t tile_k, uint32_t) {
  parallel(pool_of(pool), Grid<3, 2>{{i, j, k}, {tile_j, tile_k}},
           [=](Pool::Share& share, auto... at) { task(context, share.core_kind(otherwise, maximum), at...); });
}

void ferrypool_parallelize_4d_tile_2d_with_uarch(pthreadpool_t pool, pthreadpool_task_4d_tile_2d_with_id_t task,
                                                 void* context, uint32_t otherwise, uint32_t maximum, size_t i,
                                                 size_t j, size_t k, size_t l, size_t tile_k, size_t tile_l, uint32_t) {
  parallel(pool_of(pool), Grid<4, 2>{{i, j, k, l}, {tile_k, tile_l}},
           [=](Pool::Share& share, auto... at) { task(context, share.core_kind(otherwise, maximum), at...); });
}

}  // extern "C"

}  // namespace ferry
