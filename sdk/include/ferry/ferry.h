/* SPDX-License-Identifier: Apache-2.0 */
/* ferry.h - loads a converted model (a blob, `model.ferry`) and runs it on the CPU or the GPU.
 *
 *   ferry_model* model;
 *   ferry_session* session;
 *   ferry_tensor in, out;
 *   if (ferry_model_open("resnet50.ferry", &model) != FERRY_OK) return fail(ferry_last_error());
 *   if (ferry_session_create(model, NULL, &session) != FERRY_OK) return fail(ferry_last_error());
 *   // float32 [1,224,224,3], channels last
 *   if (ferry_session_input(session, 0, &in) != FERRY_OK) return fail(ferry_last_error());
 *   fill((float*)in.data, in.bytes);
 *   if (ferry_session_run(session) != FERRY_OK) return fail(ferry_last_error());
 *   if (ferry_session_output(session, 0, &out) != FERRY_OK) return fail(ferry_last_error());
 *   use((const float*)out.data, out.shape[1]);       // float32 [1,1000]
 *   ferry_session_close(session);
 *   ferry_model_close(model);
 *
 * Errors. Every call that can fail returns a ferry_status; FERRY_OK is 0. ferry_last_error() describes the last failing
 * call of the calling thread in one sentence. The library never aborts and never throws. On failure, out parameters are
 * set to NULL or zeros.
 *
 * Out of memory. Any call may fail with FERRY_OUT_OF_MEMORY; reporting it allocates nothing. Models, sessions, states
 * and generators keep their state from before the call, and the same call can be repeated. Optional caches (packed
 * files, GPU pipelines) are skipped if memory is short. The library cannot handle a driver that ends the process, or a
 * system that overcommits memory.
 *
 * Ownership. A session keeps its model alive, so the two may be closed in any order. Pointers in ferry_tensor belong to
 * the session and stay valid until it is resized or closed. Strings belong to the model.
 *
 * Threads. A model may be used by many threads at once. A session may be used by one thread at a time. Any thread may
 * call ferry_session_cancel() during a run. While a run of ferry_session_run_async() is in progress, every other call
 * on the session waits for its end.
 *
 * Memory. ferry_session_run() allocates no memory, opens no file and starts no thread. Exceptions: a run whose states
 * outgrow their memory, a GPU run over states, a run that loses its GPU and ends on the CPU, and the first run after a
 * resize that was out of memory. The first ferry_session_run_async() starts one thread.
 *
 * Results are bit-identical for any number of threads and any choice of cores. */
#ifndef FERRY_FERRY_H_
#define FERRY_FERRY_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#define FERRY_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define FERRY_NODISCARD __attribute__((warn_unused_result))
#else
#define FERRY_NODISCARD
#endif

#if defined(__GNUC__)
#define FERRY_API __attribute__((visibility("default")))
#else
#define FERRY_API
#endif

/* Initialises a struct: sets struct_size, and all else to zero. `ferry_report report = FERRY_INIT(ferry_report);` Works
 * in C99 and C++11. Use ferry_sampling_init() for a ferry_sampling (text.h). */
#if defined(__cplusplus)
extern "C++" {
template <typename Type>
Type ferry_initialized() {
  Type value{};
  value.struct_size = sizeof(Type);
  return value;
}
}
#define FERRY_INIT(type) ferry_initialized<type>()
#else
#define FERRY_INIT(type) ((type){.struct_size = sizeof(type)})
#endif

#define FERRY_VERSION_MAJOR 0
#define FERRY_VERSION_MINOR 3
#define FERRY_VERSION_PATCH 0
#define FERRY_MAX_RANK 6

typedef enum ferry_status {
  FERRY_OK = 0,
  /* 100: invalid call */
  FERRY_INVALID_ARGUMENT = 100, /* a NULL pointer, an index out of range, an option out of range */
  FERRY_NOT_FOUND = 101,        /* no input, output or tap of that name */
  FERRY_SHAPE_MISMATCH = 102,   /* the network does not accept that input shape */
  /* 200: invalid file */
  FERRY_IO_ERROR = 200,            /* the file cannot be opened, mapped or read */
  FERRY_NOT_A_BLOB = 201,          /* the file does not start with a blob's magic number */
  FERRY_UNSUPPORTED_VERSION = 202, /* written by a later converter */
  FERRY_CORRUPT = 203,             /* truncated, damaged or inconsistent */
  FERRY_UNSUPPORTED = 204,         /* an operator or a type that this library does not support */
  /* 300: limits */
  FERRY_OUT_OF_MEMORY = 300,
  FERRY_MEMORY_LIMIT = 301, /* the session needs more than ferry_session_options.memory_limit */
  FERRY_STATE_FULL = 302,   /* a state has no room for what the run would append */
  /* 400: the run did not complete */
  FERRY_CANCELLED = 400,
  FERRY_BACKEND_ERROR = 401,
  FERRY_GPU_UNAVAILABLE = 402, /* no Vulkan, no such device, or an unsuitable one */
  FERRY_GPU_LOST = 403,        /* the device was lost, in this run or earlier in this process */
  FERRY_GPU_WRONG = 404,       /* the device computed an operator wrongly (ferry_session_options.gpu_watch) */
  /* 500: invalid image */
  FERRY_NOT_AN_IMAGE = 500,   /* not a JPEG, PNG or BMP */
  FERRY_IMAGE_DAMAGED = 501,  /* truncated, damaged or inconsistent */
  FERRY_IMAGE_TOO_LARGE = 502 /* too many bytes or pixels, or a side that is too long */
} ferry_status;

typedef enum ferry_dtype {
  FERRY_FLOAT32 = 0,
  FERRY_FLOAT16 = 1,
  FERRY_INT8 = 3,
  FERRY_UINT8 = 4,
  FERRY_INT32 = 5,
  FERRY_INT64 = 6
} ferry_dtype;

/* Memory layout of a tensor in the framework that trained the model. The library itself always uses channels last. */
typedef enum ferry_layout {
  FERRY_LAYOUT_SAME = 0, /* the same layout */
  FERRY_LAYOUT_NCHW = 1  /* here [N,H,W,C], in the framework [N,C,H,W] */
} ferry_layout;

typedef enum ferry_backend { FERRY_BACKEND_CPU = 0, FERRY_BACKEND_GPU = 1 } ferry_backend;

/* Storage type of activations and weights. Long sums are accumulated in float32 in either case. The session's report
 * names the precision in use. */
typedef enum ferry_precision {
  FERRY_PRECISION_FLOAT32 = 0,
  FERRY_PRECISION_FLOAT16 = 1 /* half the memory and bandwidth; on every GPU, and on CPUs with float16 arithmetic */
} ferry_precision;

/* Selects CPU cores for the threads that a session starts. The session chooses when it is created, among the online
 * cores that the creating thread may use.
 *
 * Cores are ranked by Linux's cpu_capacity or, if the kernel does not report it, by their maximum clock. Cores within
 * 10% of each other count as equal. The slowest cores are little if they have less than 60% of the maximum capacity, or
 * 80% of the maximum clock. The other cores are big. If all cores are equal, or the system reports neither value, every
 * choice selects all cores.
 *
 * The caller's thread takes part in ferry_session_run() and is never moved. The threads of an external threadpool are
 * not moved either. ferry_session_run_async() uses only threads of the session. If all selected cores go offline, the
 * system moves the threads to other cores, and runs continue. */
typedef enum ferry_cores {
  FERRY_CORES_PERFORMANCE = 0, /* the big cores; all cores if num_threads is larger than the number of big ones */
  FERRY_CORES_BALANCED = 1,    /* for sustained work: the big cores without the fastest, which heat up first. If all big
                                * cores are equal, all of them */
  FERRY_CORES_EFFICIENT = 2,   /* the slowest cores */
  FERRY_CORES_ALL = 3
} ferry_cores;

typedef struct ferry_model ferry_model;
typedef struct ferry_session ferry_session;
typedef struct ferry_states ferry_states; /* the states of a blob's graphs, kept between runs */
typedef struct ferry_gpu ferry_gpu;       /* an open device */

/* A view of a tensor: row-major, channels last, no padding between elements. data is NULL in descriptions. */
typedef struct ferry_tensor {
  const char* name; /* the framework's name: "input", "logits", "layer1.0" */
  void* data;
  size_t bytes;
  ferry_dtype dtype; /* float32 or int32 for inputs and outputs */
  ferry_layout source_layout;
  int32_t rank;
  int32_t shape[FERRY_MAX_RANK];
} ferry_tensor;

/* The library's version, "0.3.0". */
FERRY_API const char* ferry_version(void);
/* The name of a status, for example "out of memory". Never NULL. */
FERRY_API const char* ferry_status_name(ferry_status status);
/* Describes the last failing call of this thread in one sentence. Never NULL; valid until this thread's next failing
 * call. */
FERRY_API const char* ferry_last_error(void);
/* Sets this thread's last error to a copy of `message` and returns `status`. For libraries built on this one. */
FERRY_API ferry_status ferry_set_last_error(ferry_status status, const char* message);

/* ---- model: a mapped, verified blob -------------------------------------------------------------------------------*/

/* Maps the file, and verifies its structure and meaning. Weights are not read: only ferry_model_check() detects damaged
 * weights. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_open(const char* path, ferry_model** model);
/* Opens a blob inside a larger file (an uncompressed APK asset): `length` bytes from `offset`, at any alignment. The
 * descriptor may be closed afterwards. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_open_fd(int fd, uint64_t offset, uint64_t length,
                                                           ferry_model** model);
/* Opens a blob in memory without a copy. The memory must stay unchanged until the model and its sessions are closed.
 * `data` must be aligned to 64 bytes. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_open_memory(const void* data, size_t size, ferry_model** model);
/* Reads the whole file and compares the weights with the converter's checksum. Call it after a download, not at every
 * start. FERRY_CORRUPT: the weights are damaged. FERRY_NOT_FOUND: the blob was written before 0.2 and has no
 * checksum. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_check(const ferry_model* model);
/* Completes the check that the model's first session began beside the runs (ferry_session_options.skip_weight_check),
 * or makes it. FERRY_CORRUPT: a constant is damaged. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_finish_check(const ferry_model* model);
/* Accepts NULL. */
FERRY_API void ferry_model_close(ferry_model* model);

/* A blob may hold several graphs over the same weights, such as an encoder and a decoder. ferry_model_open() opens the
 * first. Each graph has its own inputs, outputs, taps, labels, preprocessing and certificate. */
FERRY_API size_t ferry_model_graph_count(const ferry_model* model);
/* NULL if `index` is out of range; "" if the blob has one graph without a name. */
FERRY_API const char* ferry_model_graph_name(const ferry_model* model, size_t index);
/* Opens another graph of the same blob as a model. The file is not opened again, and sessions of both share packed
 * weights. Close it separately, in any order. FERRY_NOT_FOUND: the blob has no such graph. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_open_graph(const ferry_model* model, const char* name,
                                                              ferry_model** graph);

FERRY_API const char* ferry_model_name(const ferry_model* model);
FERRY_API size_t ferry_model_input_count(const ferry_model* model);
FERRY_API size_t ferry_model_output_count(const ferry_model* model);
FERRY_API size_t ferry_model_tap_count(const ferry_model* model);
/* Descriptions at the blob's default input size. data is NULL. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_input(const ferry_model* model, size_t index, ferry_tensor* out);
FERRY_NODISCARD FERRY_API ferry_status ferry_model_output(const ferry_model* model, size_t index, ferry_tensor* out);
FERRY_NODISCARD FERRY_API ferry_status ferry_model_tap(const ferry_model* model, size_t index, ferry_tensor* out);
/* The maximum shape of input `index` that sessions plan for; its default shape if the blob sets no bound. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_input_bound(const ferry_model* model, size_t index,
                                                               ferry_tensor* out);
/* The tokenizer and chat template of a language model, to be verified by libferry_text (text.h). NULL, and *bytes 0,
 * for a blob without them. */
FERRY_API const void* ferry_model_text(const ferry_model* model, size_t* bytes);
/* Class names; 0 and NULL if the blob has none or `index` is out of range. */
FERRY_API size_t ferry_model_label_count(const ferry_model* model);
FERRY_API const char* ferry_model_label(const ferry_model* model, size_t index);

/* ---- session: one network, planned for one input size, used by one thread at a time ----------------------------*/

typedef struct ferry_session_options {
  size_t struct_size;      /* set by ferry_session_options_init() */
  int32_t num_threads;     /* threads of a run, including the caller's; at most 256. 0: one per core that cores or
                            * cpu_mask selects. If the system starts fewer, the session uses those, and a note in the
                            * report says so. Ignored if threadpool is set */
  void* threadpool;        /* a pthreadpool_t of the caller, which must outlive the session; NULL: the session's own */
  const char* const* taps; /* names of the taps to keep; NULL if tap_count is 0 */
  size_t tap_count;
  bool all_taps;
  bool profile;              /* time every operator */
  uint64_t memory_limit;     /* maximum bytes of CPU and GPU memory together: the plan (inputs, outputs, activations,
                              * scratch memory), states, and the weights packed by this session. Not counted: weights
                              * that another session packed or that are mapped from a file, operators' tables, and
                              * memory held for one call only. A larger allocation fails with FERRY_MEMORY_LIMIT. 0: 4
                              * GiB, or twice the blob's weights if that is more */
  int32_t backend;           /* a ferry_backend */
  int32_t precision;         /* a ferry_precision */
  bool gpu_required;         /* fail if the GPU cannot be used; otherwise the session runs on the CPU */
  bool gpu_retry;            /* reopen a device that was lost in this process */
  bool gpu_tune;             /* measure alternative kernels now, and store the fastest in gpu_cache_dir */
  const char* gpu_device;    /* NULL or "best"; an index of ferry_gpu_describe(); or part of a device's name */
  ferry_gpu* gpu;            /* a device of the app (vulkan.h), which the session keeps open; NULL: use gpu_device */
  const char* gpu_cache_dir; /* folder for pipelines, canary results and tuned choices; created if missing. NULL:
                              * nothing is stored */
  const char* cache_dir;     /* folder for weights packed for this CPU or GPU; created if missing. The first session of
                              * a model writes a file, and later sessions map it: they start faster, and processes share
                              * the memory. A file that cannot be used costs only time, and a note in the report says
                              * why. The folder may be emptied at any time. NULL: each process packs its own */
  const char* graph;         /* the graph of the model's blob to run; NULL: the model's own */
  ferry_states* states;      /* states of the same blob, which the session keeps open; NULL: the session's own */
  int32_t cores;             /* a ferry_cores: where the threads that the session starts may run. Ignored if cpu_mask or
                              * threadpool is set */
  const uint64_t* cpu_mask;  /* the CPUs where they may run: CPU c is bit c % 64 of word c / 64. Read when the session
                              * is created. CPUs that are offline, or that the creating thread may not use, are ignored;
                              * FERRY_INVALID_ARGUMENT if none is left. NULL: use cores */
  size_t cpu_mask_words;     /* number of words in cpu_mask */
  bool skip_weight_check;    /* false: the first session of a model compares the weights with the checksums that the
                              * converter wrote, once a file: cache_dir keeps a record. More than 1 MB is checked in
                              * a thread of low priority. Damage makes runs fail with FERRY_CORRUPT and the name of
                              * the constant, in all sessions of the model; a run that ends before that returns its
                              * result, and ferry_model_finish_check() tells. A blob that exceeds half of the machine's
                              * memory, or was converted before 0.3, is not checked */
  double gpu_watch;          /* watches the GPU: in some runs, rows of one operator, chosen at random, are computed
                              * again by the CPU. It takes at most this share of the time of all runs: 0.01 is one
                              * hundredth. At most 1; 0: no watch. After a disagreement the run is completed on the CPU,
                              * later runs use the CPU too, and the report's gpu_status is FERRY_GPU_WRONG. With
                              * cache_dir, later sessions do not use that kernel. A watched run allocates memory. Only
                              * ferry_session_run() and _run_async() are watched. FERRY_UNSUPPORTED: a library without
                              * FERRY_GPU_CHECKS (docs/building.md) */
  int32_t state_dtype;       /* FERRY_FLOAT16 or FERRY_INT8: the session's own states hold keys and values of attention
                              * in no more bits than that. FERRY_FLOAT32: as the blob says. Ignored with `states`.
                              * FERRY_UNSUPPORTED: the blob has no states that may have fewer bits, or does not say
                              * which ones may, as blobs of earlier versions */
} ferry_session_options;

FERRY_API void ferry_session_options_init(ferry_session_options* options);
/* `options` NULL: the defaults. Sessions of one model share its weights, including packed ones. If the GPU cannot be
 * used and gpu_required is false, the session runs on the CPU and ferry_session_report() says why. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_create(ferry_model* model, const ferry_session_options* options,
                                                            ferry_session** session);
/* Accepts NULL. */
FERRY_API void ferry_session_close(ferry_session* session);

/* Sets the shape of input `index` (channels last). On failure the session keeps its former shape. On the CPU, a shape
 * within the blob's bound, or within the shapes of ferry_session_reserve(), needs no planning and allocates only the
 * tables of convolutions. Any other shape is planned again. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_resize(ferry_session* session, size_t index, const int32_t* shape,
                                                            int32_t rank);
/* Sets the shapes of all inputs at once, if they depend on each other. Only shape and rank of each tensor are read, in
 * the inputs' order. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_resize_inputs(ferry_session* session, const ferry_tensor* inputs,
                                                                   size_t count);
/* Allocates memory for these shapes of all inputs, and keeps the present shapes. The tensors are read as in
 * ferry_session_resize_inputs(). */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_reserve(ferry_session* session, const ferry_tensor* inputs,
                                                             size_t count);
/* Tensors to write before a run and to read after it. Inputs keep their contents between runs. If the size of an output
 * follows from values, the output has its exact shape after a run, possibly with 0, and its maximum shape before. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_input(ferry_session* session, size_t index, ferry_tensor* out);
FERRY_NODISCARD FERRY_API ferry_status ferry_session_output(ferry_session* session, size_t index, ferry_tensor* out);
/* FERRY_NOT_FOUND: the model has no such tap, or options.taps does not name it. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_tap(ferry_session* session, const char* name, ferry_tensor* out);

/* Computes outputs and taps from the inputs. FERRY_CANCELLED: outputs are undefined. FERRY_INVALID_ARGUMENT: an input
 * holds an index that is out of range, or another run uses the states; outputs are undefined. FERRY_STATE_FULL: a state
 * has no room for what the run would append. After any failure the states are unchanged. A run allocates only if a
 * state outgrows its memory (see ferry_states_reserve()), and on a GPU if a state's length changed. If the GPU is lost
 * or fails, the run is completed on the CPU, even with gpu_required, and later runs of this session use the CPU too. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_run(ferry_session* session);

/* Called in the session's own thread at the end of a run. It may read results, and ferry_last_error() describes
 * `status`. It may start a new run, and must then make no more calls on the session. It must not close the session or
 * wait for it. */
typedef void (*ferry_run_callback)(ferry_session* session, ferry_status status, void* user);
/* Begins a run and returns. `callback` (NULL: none) is called at its end. Do not write inputs during the run. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_run_async(ferry_session* session, ferry_run_callback callback,
                                                               void* user);
/* Waits until no run and no callback is in progress. Returns the status of the last run that was begun asynchronously;
 * FERRY_OK if there was none. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_wait(ferry_session* session);

/* Asks the current run, synchronous or not, to stop: on the CPU within the current operator, on a GPU after the
 * operators already submitted. Does nothing without a run. Any thread may call it. */
FERRY_API void ferry_session_cancel(ferry_session* session);

/* Bytes of the planned arena: activations, scratch memory, inputs and outputs. */
FERRY_API uint64_t ferry_session_arena_bytes(const ferry_session* session);
/* Bytes of weights in the backend's packed layout, shared by the model's sessions. */
FERRY_API uint64_t ferry_session_packed_bytes(const ferry_session* session);

/* The time of one operator in the last run; requires options.profile. */
typedef struct ferry_profile_entry {
  const char* name;    /* the framework's module name */
  const char* op;      /* "conv2d" */
  const char* backend; /* "cpu" or "gpu" */
  double microseconds; /* 0: fused into a later operator, whose time includes both */
  int32_t rank;        /* rank and shape of the first output */
  int32_t shape[FERRY_MAX_RANK];
} ferry_profile_entry;

FERRY_API size_t ferry_session_profile_count(const ferry_session* session);
FERRY_NODISCARD FERRY_API ferry_status ferry_session_profile(const ferry_session* session, size_t index,
                                                             ferry_profile_entry* out);

/* Where a session runs, and why. Strings are never NULL, belong to the session and stay valid until it is run, resized
 * or closed. */
typedef struct ferry_report {
  size_t struct_size;        /* set by the caller: sizeof(ferry_report) */
  ferry_backend backend;     /* backend of the last run; before the first run, of the next */
  ferry_status gpu_status;   /* why a requested GPU is not used or was left; FERRY_OK otherwise */
  const char* message;       /* describes gpu_status; "" for FERRY_OK */
  const char* device;        /* the GPU's name; "" on the CPU */
  const char* driver;        /* its driver and version; "" on the CPU */
  ferry_precision precision; /* precision of stored activations and weights */
  size_t gpu_operators;
  size_t cpu_operators;   /* in a GPU session: operators without a GPU kernel, which run on the CPU */
  size_t transfers;       /* values copied between CPU and GPU in a run, including inputs and outputs */
  size_t canary_count;    /* shader variants checked against a known result, now or in an earlier run of the app */
  size_t canary_failures; /* variants that this driver computes wrongly; others replace them */
  double canary_ms;       /* milliseconds that the checks took in this session */
  size_t note_count;      /* number of notes, see ferry_session_report_note() */
  const char* cpus;       /* CPUs of the session's threads at creation, "0-3,6"; "" if the system does not report them,
                           * or with a caller's threadpool */
  size_t threads;         /* including the caller */
  size_t watched_runs;    /* runs in which the CPU computed rows of an operator again (options.gpu_watch) */
} ferry_report;

FERRY_NODISCARD FERRY_API ferry_status ferry_session_report(const ferry_session* session, ferry_report* report);
/* One sentence about a deviation from the plan: a replaced variant, a failed pipeline... NULL if `index` is out of
 * range. */
FERRY_API const char* ferry_session_report_note(const ferry_session* session, size_t index);

/* The result of ferry_session_check_kernels(). */
typedef struct ferry_kernel_check {
  size_t struct_size; /* set by the caller: sizeof(ferry_kernel_check) */
  size_t kernels;     /* different kernels and sizes that the session uses on its GPU */
  size_t checked;     /* of these, with a verdict. Less than kernels: the time was over, and another call goes on */
  size_t failures;    /* found wrong by this call. The session uses other kernels or the CPU instead, and has a note */
  uint64_t replays;   /* runs of kernels by this call */
} ferry_kernel_check;

/* Checks the GPU's kernels at the session's own sizes: runs each 128 times on made-up inputs and compares the results
 * bit by bit with each other, and one with the CPU. For drivers that are right at small sizes only, or not always.
 * `seconds`: stop after about so long, for calls in an app's idle time; 0: check all. Verdicts are kept in
 * options.cache_dir, for this model, device and driver, and later sessions read them when they are created. Without
 * cache_dir they last as long as the session. Outputs and inputs keep their contents. If the device is lost, the
 * session moves to the CPU. FERRY_GPU_UNAVAILABLE: the session is on the CPU. FERRY_UNSUPPORTED: buffers of the app are
 * bound, or the library has no FERRY_GPU_CHECKS (docs/building.md). */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_check_kernels(ferry_session* session, double seconds,
                                                                   ferry_kernel_check* out);

/* ---- states: what a network keeps between runs -----------------------------------------------------------------*/

/* A state is a named tensor that persists between runs. Its length is a number of tokens. There are three kinds:
 *
 * - A growing state keeps all tokens, for example their keys and values. Each run appends to it, up to the bound that
 *   the blob sets. Its memory at least doubles when it grows.
 * - A state of fixed size belongs to a recurrent layer. It starts as zeros, and each run replaces it. It is stored
 *   twice. Its length is the number of tokens processed.
 * - A windowed state belongs to attention that sees only the last tokens. It stores these and the 64 to 127 tokens
 *   before them. Its length counts all tokens, and the blob bounds it, too.
 *
 * A session creates its own states; ferry_session_states() returns them. Sessions of one blob, of the same graph or of
 * several, can share states instead:
 *
 *     ferry_states* states;                                    // a conversation
 *     ferry_states_create(model, &states);
 *     options.states = states;
 *     options.graph = "prefill";                               // many tokens a run
 *     ferry_session_create(model, &options, &prefill);
 *     options.graph = "decode";                                // one token a run
 *     ferry_session_create(model, &options, &decode);
 *     ...
 *     ferry_states_truncate(states, kept);                     // return to an earlier token
 *     ferry_states_close(states);                              // sessions keep them open
 *
 * One run at a time may use states. During a run, other runs and the calls that reserve, change, save or load the
 * states fail with FERRY_INVALID_ARGUMENT. Do not call ferry_states_describe(), ferry_states_length() or
 * ferry_states_bytes() then. A run that fails or is cancelled leaves the states unchanged. */

/* Creates empty states for all graphs of the model's blob, and keeps the model open. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_create(const ferry_model* model, ferry_states** states);
/* Accepts NULL. */
FERRY_API void ferry_states_close(ferry_states* states);
/* The states of a session; close them with ferry_states_close(). FERRY_NOT_FOUND: its graph has none. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_states(const ferry_session* session, ferry_states** states);
FERRY_API size_t ferry_states_count(const ferry_states* states);
/* Name, type and contents of state `index` at its present length, valid until the next run or change. An empty growing
 * or windowed state has 0 elements. data is NULL until memory is allocated. In a state of FERRY_INT8, a float32 scale
 * precedes the integers of every head, and `bytes` counts the scales. FERRY_INVALID_ARGUMENT: there is no such
 * state. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_describe(const ferry_states* states, size_t index,
                                                             ferry_tensor* out);
/* The length of the longest state in tokens, which is the position of the next token. 0 for NULL. */
FERRY_API int32_t ferry_states_length(const ferry_states* states);
/* The maximum length that all states support, in tokens: the smallest bound of a state. INT32_MAX if none has a bound;
 * 0 for NULL. */
FERRY_API int32_t ferry_states_bound(const ferry_states* states);
/* Bytes of memory allocated for the states. */
FERRY_API uint64_t ferry_states_bytes(const ferry_states* states);
/* Allocates memory for `length` tokens, or for the bound if that is less. Runs up to that length then allocate nothing
 * for states, except a run of several tokens over a windowed state. FERRY_OUT_OF_MEMORY. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_reserve(ferry_states* states, int32_t length);
/* Empties all states and keeps their memory. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_reset(ferry_states* states);
/* Cuts every longer state to its first `length` tokens. 0 empties all states. FERRY_UNSUPPORTED, and nothing changes: a
 * state of fixed size is longer and `length` is not 0, or a windowed state no longer stores the tokens that attention
 * sees at `length`. FERRY_INVALID_ARGUMENT: `length` is negative. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_truncate(ferry_states* states, int32_t length);
/* Writes all contents to a temporary file beside `path` and renames it. The file can only be loaded with the same
 * version of the same blob. FERRY_IO_ERROR: the file cannot be written. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_save(const ferry_states* states, const char* path);
/* Replaces all contents by a file's. On failure they are unchanged. FERRY_IO_ERROR: the file cannot be read.
 * FERRY_CORRUPT: it is damaged, not a file of states, or of another model. FERRY_UNSUPPORTED_VERSION: a later version
 * of Ferry wrote it. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_load(ferry_states* states, const char* path);
/* As ferry_states_save(), and stores a note of the app in the file: `note_bytes` bytes. NULL and 0: no note. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_save_with(const ferry_states* states, const char* path,
                                                              const void* note, size_t note_bytes);
/* Called when the file has been read, before the states are replaced. `note` is valid during the call, and its content
 * is untrusted. `length` is the length of the file's longest state in tokens. If the function returns another status
 * than FERRY_OK, the load fails with that status and the sentence of ferry_last_error(), and the states are unchanged.
 * The function must not use the states. */
typedef ferry_status (*ferry_states_reader)(void* user, const void* note, size_t note_bytes, int32_t length);
/* As ferry_states_load(). `read` NULL: the note is ignored. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_load_with(ferry_states* states, const char* path,
                                                              ferry_states_reader read, void* user);

/* ---- certificates -------------------------------------------------------------------------------------------------*/

/* Result of checking a blob's certificates: inputs, and samples of the framework's results for each stage, stored by
 * the converter. Strings are never NULL and belong to the model. */
typedef struct ferry_verification {
  size_t struct_size; /* set by the caller: sizeof(ferry_verification) */
  bool passed;        /* every stage is within its bound */
  size_t stage_count; /* outputs and taps compared, in all graphs */
  const char* stage;  /* the first stage out of bounds in network order; if passed, the one nearest to its bound */
  double error; /* maximum absolute error of that stage's samples, divided by the reference's absolute maximum if the
                 * bound is relative; infinity for NaN, or if a hash differs */
  double bound; /* maximum error allowed */
  double error_at_conversion; /* error measured by the converter, on its CPU */
  const char* fixture;        /* the name of the reference run */
  const char* library;        /* the library that computed it, "timm 1.0.29" */
  const char* graph;          /* the graph of `stage`, as in ferry_model_graph_name() */
} ferry_verification;

/* Runs every graph of the blob that has a certificate on the certificate's inputs, and compares every stage. Outputs of
 * the first graph become inputs of the others if the certificate says so. The function creates its own sessions with
 * `options` (NULL: the defaults; taps, graph and states are ignored). It costs little more than one inference.
 * FERRY_OK: all graphs ran, and out->passed is the result. FERRY_NOT_FOUND: no graph has a certificate.
 * FERRY_INVALID_ARGUMENT: float16, for which there are no bounds. FERRY_CORRUPT: a certificate does not match its
 * graph. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_verify(ferry_model* model, const ferry_session_options* options,
                                                          ferry_verification* out);

/* ---- GPUs ---------------------------------------------------------------------------------------------------------*/

typedef enum ferry_gpu_type {
  FERRY_GPU_OTHER = 0,
  FERRY_GPU_INTEGRATED = 1,
  FERRY_GPU_DISCRETE = 2,
  FERRY_GPU_VIRTUAL = 3,
  FERRY_GPU_SOFTWARE = 4 /* a software rasteriser on the CPU */
} ferry_gpu_type;

typedef struct ferry_gpu_info {
  size_t struct_size; /* set by the caller: sizeof(ferry_gpu_info) */
  ferry_gpu_type type;
  int32_t vulkan_major; /* the device's Vulkan version */
  int32_t vulkan_minor;
  uint64_t memory_bytes; /* size of its largest device-local heap */
  char name[256];
  char driver[256];  /* name and version */
  char problem[256]; /* why it is unsuitable, one sentence; "" if it is suitable */
} ferry_gpu_info;

/* Number of Vulkan devices, including unsuitable ones. 0: none; ferry_last_error() says why. */
FERRY_API size_t ferry_gpu_count(void);
/* FERRY_GPU_UNAVAILABLE: there is no Vulkan. */
FERRY_NODISCARD FERRY_API ferry_status ferry_gpu_describe(size_t index, ferry_gpu_info* info);

/* Whether the device keeps float16 values below 2^-14, as stored by float16 sessions. *kept false: it takes them for
 * zero, and small weights are lost. Opens the device. FERRY_GPU_UNAVAILABLE: it cannot be used. */
FERRY_NODISCARD FERRY_API ferry_status ferry_gpu_keeps_denormals(size_t index, bool* kept);

/* An audit: does a GPU compute a model's kernels in the same way each time, under load, when it is warm? It replays
 * every kernel of the model at its own sizes, with the model's weights and made-up inputs, and counts the runs that
 * differ.
 *
 *     ferry_audit_options how = FERRY_INIT(ferry_audit_options);
 *     how.seconds = 300;
 *     ferry_audit* audit;
 *     if (ferry_gpu_audit(model, &options, &how, &audit) != FERRY_OK) return fail(ferry_last_error());
 *     for (size_t i = 0; i < ferry_audit_operator_count(audit); ++i) show(audit, i);
 *     ferry_audit_close(audit); */
typedef struct ferry_audit ferry_audit;

typedef struct ferry_audit_options {
  size_t struct_size;                         /* set by the caller: sizeof(ferry_audit_options) */
  double seconds;                             /* how long; 0: each kernel once in turn */
  const char* root;                           /* put before the paths of sysfs, for tests; NULL: none */
  void (*progress)(void* user, double share); /* called between kernels, share from 0 to 1; NULL: none */
  void* user;
} ferry_audit_options;

/* Strings are never NULL and belong to the audit. */
typedef struct ferry_audited_operator {
  const char* name;   /* the framework's module name */
  const char* op;     /* "conv2d" */
  const char* shape;  /* of its output, "[1,56,56,64]" */
  const char* kernel; /* the shader variant that ran */
  uint64_t runs;
  uint64_t differed;   /* runs whose result differed in a bit from the run that others are compared with */
  bool compared;       /* with the CPU; false for operators over states, and for some too large to compute again */
  double error;        /* largest error against the CPU, as a fraction of what rounding explains; above 1: wrong */
  const char* problem; /* what is wrong with it; "" if nothing is but `differed` */
} ferry_audited_operator;

/* A temperature or clock as sysfs has it: thermal zones, devfreq, cpufreq. */
typedef struct ferry_audited_sensor {
  const char* name;
  const char* unit; /* "C" or "MHz" */
  double first;
  double lowest;
  double highest;
  double last;
} ferry_audited_sensor;

typedef struct ferry_audit_summary {
  size_t struct_size; /* set by the caller: sizeof(ferry_audit_summary) */
  bool passed;        /* no run differed, none was wrong, and the device was not lost */
  double seconds;
  uint64_t runs;
  const char* device;
  const char* driver;
  const char* lost; /* why the audit ended early; "" if it did not */
} ferry_audit_summary;

/* Runs the audit in the calling thread. `options` choose the device, precision, graph and caches of a session that it
 * makes, as in ferry_session_create(); backend is always the GPU. NULL: the defaults. FERRY_OK: it ran, and the summary
 * has the result. FERRY_GPU_UNAVAILABLE: there is no such device. FERRY_UNSUPPORTED: a library without
 * FERRY_GPU_CHECKS (docs/building.md). */
FERRY_NODISCARD FERRY_API ferry_status ferry_gpu_audit(ferry_model* model, const ferry_session_options* options,
                                                       const ferry_audit_options* how, ferry_audit** audit);
/* Accepts NULL. */
FERRY_API void ferry_audit_close(ferry_audit* audit);
FERRY_NODISCARD FERRY_API ferry_status ferry_audit_result(const ferry_audit* audit, ferry_audit_summary* out);
/* Operators in the order of the network, one for each kernel and size. */
FERRY_API size_t ferry_audit_operator_count(const ferry_audit* audit);
FERRY_NODISCARD FERRY_API ferry_status ferry_audit_operator(const ferry_audit* audit, size_t index,
                                                            ferry_audited_operator* out);
FERRY_API size_t ferry_audit_sensor_count(const ferry_audit* audit);
FERRY_NODISCARD FERRY_API ferry_status ferry_audit_sensor(const ferry_audit* audit, size_t index,
                                                          ferry_audited_sensor* out);

/* ---- layouts ------------------------------------------------------------------------------------------------------*/

/* Copies `count` float32 elements in the framework's layout (tensor->source_layout) into tensor->data. `source` may be
 * NULL if there are none. */
FERRY_NODISCARD FERRY_API ferry_status ferry_tensor_write_source(const ferry_tensor* tensor, const float* source,
                                                                 size_t count);
/* Copies tensor->data to `count` float32 elements in the framework's layout. */
FERRY_NODISCARD FERRY_API ferry_status ferry_tensor_read_source(const ferry_tensor* tensor, float* destination,
                                                                size_t count);
/* The same for int32 tensors. Integers of any width in the framework are int32 here; booleans are 0 or 1. */
FERRY_NODISCARD FERRY_API ferry_status ferry_tensor_write_source_int32(const ferry_tensor* tensor,
                                                                       const int32_t* source, size_t count);
FERRY_NODISCARD FERRY_API ferry_status ferry_tensor_read_source_int32(const ferry_tensor* tensor, int32_t* destination,
                                                                      size_t count);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_FERRY_H_ */
