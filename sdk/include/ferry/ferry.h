/* SPDX-License-Identifier: Apache-2.0 */
/* ferry.h - run a converted model (a blob, `model.ferry`) on a device.
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
 * Errors. Every call that can fail returns a ferry_status; FERRY_OK is 0. ferry_last_error() gives a sentence for the
 * last failing call of the calling thread. Nothing aborts, and no exception leaves the library. On failure, out
 * parameters are set to NULL or zeros.
 *
 * Memory that runs out. Any call may then fail with FERRY_OUT_OF_MEMORY, for which neither the status nor the sentence
 * takes memory. Models, sessions, states and generators are what they were before the call, nothing is lost, and the
 * same call succeeds once there is memory again. What merely saves time (packed weights, a GPU's caches) is done
 * without where there is none for it. Not in the library's hands: a driver that ends the process, a system that lends
 * more memory than it has.
 *
 * Ownership. A session keeps its model alive: the two may be closed in any order. Pointers in ferry_tensor belong to
 * the session and stay valid until it is resized or closed. Strings belong to the model.
 *
 * Threads. A model may be used by many threads at once. A session is used by one thread at a time, except
 * ferry_session_cancel(), which any thread may call while a run is under way, from ferry_session_run_async() on. While
 * one is that it began, every other call that takes the session waits for its end.
 *
 * Memory. ferry_session_run() allocates nothing, opens nothing and starts no thread; the exceptions are the run that
 * loses its GPU and ends on the CPU, runs on a GPU over states, and the first run after a resize that found no memory.
 * The first ferry_session_run_async() starts a thread of the session's own. Results do not depend on the number of
 * threads nor on the cores that they run on, bit for bit. */
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

/* A struct that begins with struct_size, all else zero: `ferry_report report = FERRY_INIT(ferry_report);`. C99 and
 * C++11. A ferry_sampling (text.h) is begun by ferry_sampling_init(). */
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
#define FERRY_VERSION_MINOR 2
#define FERRY_VERSION_PATCH 0
#define FERRY_MAX_RANK 6

typedef enum ferry_status {
  FERRY_OK = 0,
  /* 100: the call was wrong */
  FERRY_INVALID_ARGUMENT = 100, /* a NULL pointer, an index out of range, an option out of range */
  FERRY_NOT_FOUND = 101,        /* no input, output or tap of that name */
  FERRY_SHAPE_MISMATCH = 102,   /* the network cannot run at that input shape */
  /* 200: the file was wrong */
  FERRY_IO_ERROR = 200,            /* it cannot be opened, mapped or read */
  FERRY_NOT_A_BLOB = 201,          /* it does not begin like a blob */
  FERRY_UNSUPPORTED_VERSION = 202, /* written by a later converter */
  FERRY_CORRUPT = 203,             /* truncated, damaged or inconsistent */
  FERRY_UNSUPPORTED = 204,         /* an operator or type that this library does not run */
  /* 300: the machine had too little */
  FERRY_OUT_OF_MEMORY = 300,
  FERRY_MEMORY_LIMIT = 301, /* the session needs more than ferry_session_options.memory_limit */
  FERRY_STATE_FULL = 302,   /* a state cannot hold as much as a run would append */
  /* 400: the run ended early */
  FERRY_CANCELLED = 400,
  FERRY_BACKEND_ERROR = 401,
  FERRY_GPU_UNAVAILABLE = 402, /* no Vulkan, no such device, or one that cannot serve */
  FERRY_GPU_LOST = 403,        /* the device was lost, in this run or earlier in this process */
  /* 500: the image was wrong */
  FERRY_NOT_AN_IMAGE = 500,   /* it does not begin like a JPEG, PNG or BMP */
  FERRY_IMAGE_DAMAGED = 501,  /* truncated, damaged or inconsistent */
  FERRY_IMAGE_TOO_LARGE = 502 /* it has more bytes, pixels or pixels a side than are read */
} ferry_status;

typedef enum ferry_dtype {
  FERRY_FLOAT32 = 0,
  FERRY_FLOAT16 = 1,
  FERRY_INT8 = 3,
  FERRY_UINT8 = 4,
  FERRY_INT32 = 5,
  FERRY_INT64 = 6
} ferry_dtype;

/* How the framework that trained the model lays a tensor out. The library's own layout is always channels last. */
typedef enum ferry_layout {
  FERRY_LAYOUT_SAME = 0, /* as here */
  FERRY_LAYOUT_NCHW = 1  /* here [N,H,W,C], there [N,C,H,W] */
} ferry_layout;

typedef enum ferry_backend { FERRY_BACKEND_CPU = 0, FERRY_BACKEND_GPU = 1 } ferry_backend;

/* How activations and weights are stored; long sums are float32's either way. The session's report says what it got. */
typedef enum ferry_precision {
  FERRY_PRECISION_FLOAT32 = 0,
  FERRY_PRECISION_FLOAT16 = 1 /* half the memory and traffic: on every GPU, and on CPUs with float16 arithmetic */
} ferry_precision;

/* Which cores a session's own threads keep to, of those that the thread which makes it may use, by what Linux says of
 * them then: their capacities (cpu_capacity) or, for want of these, their highest clocks. Cores within 10% of each
 * other are alike; where all are, or nothing is known, every choice is all of them. Little cores are the slowest where
 * they have less than 60% of the fastest's capacity (80% of its clock). A thread whose cores are all taken away is
 * moved by the system, and the run goes on. Nothing moves the caller's own thread, which takes part in runs wherever it
 * is; nor a threadpool's. What ferry_session_run_async() begins is computed in the session's threads alone. */
typedef enum ferry_cores {
  FERRY_CORES_PERFORMANCE = 0, /* the big cores: all but the little ones; all cores where num_threads is above that */
  FERRY_CORES_BALANCED = 1,  /* for what lasts: the big cores without the fastest, which get hot, if others are left */
  FERRY_CORES_EFFICIENT = 2, /* the slowest */
  FERRY_CORES_ALL = 3
} ferry_cores;

typedef struct ferry_model ferry_model;
typedef struct ferry_session ferry_session;
typedef struct ferry_states ferry_states; /* what a blob's graphs remember from run to run */
typedef struct ferry_gpu ferry_gpu;       /* an opened device */

/* A view of a tensor. data may be NULL in descriptions. Row-major, channels last, no padding between elements. */
typedef struct ferry_tensor {
  const char* name; /* the framework's name: "input", "logits", "layer1.0" */
  void* data;
  size_t bytes;
  ferry_dtype dtype; /* of what a network takes and gives: float32 or int32 */
  ferry_layout source_layout;
  int32_t rank;
  int32_t shape[FERRY_MAX_RANK];
} ferry_tensor;

/* "0.2.0" */
FERRY_API const char* ferry_version(void);
/* "out of memory" etc.: the name of a status, never NULL. */
FERRY_API const char* ferry_status_name(ferry_status status);
/* What went wrong in the last failing call of this thread: one sentence, never NULL, valid until its next failing
 * call. */
FERRY_API const char* ferry_last_error(void);
/* Makes `message` this thread's last error, and returns `status`: for libraries that stand on this one. */
FERRY_API ferry_status ferry_set_last_error(ferry_status status, const char* message);

/* ---- model: a mapped, verified blob -------------------------------------------------------------------------------*/

/* Maps the file and verifies it, structure and meaning. It reads no weights: any bits of theirs are taken, and damage
 * to them is found by ferry_model_check() alone. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_open(const char* path, ferry_model** model);
/* A blob inside a larger file (an uncompressed APK asset): `length` bytes from `offset`, any alignment. The descriptor
 * may be closed afterwards. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_open_fd(int fd, uint64_t offset, uint64_t length,
                                                           ferry_model** model);
/* A blob in memory, not copied: it must stay unchanged until the model and its sessions are closed. `data` must be
 * aligned to 64 bytes. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_open_memory(const void* data, size_t size, ferry_model** model);
/* Reads the whole file: are the weights those that the converter wrote? For after a download, not for every start.
 * FERRY_CORRUPT: they are damaged. FERRY_NOT_FOUND: the blob, of a version before 0.2, has no checksum. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_check(const ferry_model* model);
/* NULL is allowed. */
FERRY_API void ferry_model_close(ferry_model* model);

/* A blob may hold several graphs over the same weights: an encoder and a decoder, two towers. ferry_model_open() gives
 * the first; each has its own inputs, outputs, taps, labels, recipe and certificate. */
FERRY_API size_t ferry_model_graph_count(const ferry_model* model);
/* NULL where `index` is out of range; "" for the one graph of a blob that gives it no name. */
FERRY_API const char* ferry_model_graph_name(const ferry_model* model, size_t index);
/* Another graph of the same blob as a model of its own: nothing is opened or copied again, and their sessions share
 * packed weights. Closed by itself, in any order. FERRY_NOT_FOUND: the blob has no such graph. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_open_graph(const ferry_model* model, const char* name,
                                                              ferry_model** graph);

FERRY_API const char* ferry_model_name(const ferry_model* model);
FERRY_API size_t ferry_model_input_count(const ferry_model* model);
FERRY_API size_t ferry_model_output_count(const ferry_model* model);
FERRY_API size_t ferry_model_tap_count(const ferry_model* model);
/* Descriptions at the blob's default input size; data is NULL. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_input(const ferry_model* model, size_t index, ferry_tensor* out);
FERRY_NODISCARD FERRY_API ferry_status ferry_model_output(const ferry_model* model, size_t index, ferry_tensor* out);
FERRY_NODISCARD FERRY_API ferry_status ferry_model_tap(const ferry_model* model, size_t index, ferry_tensor* out);
/* The largest shape of input `index` that sessions plan for; its default shape where the blob names none. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_input_bound(const ferry_model* model, size_t index,
                                                               ferry_tensor* out);
/* What a language model's blob says of text, for libferry_text (text.h), which verifies it; NULL, and *bytes 0, where
 * it says nothing. */
FERRY_API const void* ferry_model_text(const ferry_model* model, size_t* bytes);
/* Class names; 0 and NULL where the blob has none or `index` is out of range. */
FERRY_API size_t ferry_model_label_count(const ferry_model* model);
FERRY_API const char* ferry_model_label(const ferry_model* model, size_t index);

/* ---- session: one network, planned for one input size, run by one thread at a time --------------------------------*/

typedef struct ferry_session_options {
  size_t struct_size;      /* set by ferry_session_options_init() */
  int32_t num_threads;     /* including the caller; 0: one a core of those chosen by cores or cpu_mask. Where the system
                            * starts fewer, the session runs on those and a note in the report says so. Ignored where
                            * threadpool is given */
  void* threadpool;        /* a pthreadpool_t of the caller's, which outlives the session; NULL: the session's own */
  const char* const* taps; /* names of the taps to keep; NULL with tap_count 0: none */
  size_t tap_count;
  bool all_taps;
  bool profile;              /* time every operator */
  uint64_t memory_limit;     /* bytes at most, of the CPU's memory and the GPU's together: the plan's (inputs, outputs,
                              * activations, scratch memory), what its states hold, and the weights that it packs.
                              * Weights count for the session that packed them: not those that another one has packed,
                              * nor those mapped from a file. What would exceed it is refused before it is allocated.
                              * Not counted: operators' tables, and what is taken for the length of a call. 0: 4 GiB,
                              * or twice the blob's weights where that is more */
  int32_t backend;           /* a ferry_backend */
  int32_t precision;         /* a ferry_precision */
  bool gpu_required;         /* a GPU that cannot be used fails the call: no session for the CPU instead */
  bool gpu_retry;            /* open a device again that was lost in this process */
  bool gpu_tune;             /* measure alternative kernels now, and remember the fastest in gpu_cache_dir */
  const char* gpu_device;    /* NULL or "best"; an index as in ferry_gpu_describe(); or part of a device's name */
  ferry_gpu* gpu;            /* a device of the app's own (vulkan.h), which the session keeps open; NULL: gpu_device */
  const char* gpu_cache_dir; /* folder for what is kept between runs of the app: pipelines, canary verdicts, tuned
                              * choices; made where it is missing. NULL: nothing is kept */
  const char* cache_dir;     /* folder for weights packed for this CPU, or GPU; made where it is missing. The first
                              * session of a model writes a file there, later ones map it: they start at once, and
                              * processes share it. What cannot be used costs time and memory only, and a note in the
                              * report says why. May be emptied at any time. NULL: each process packs for itself */
  const char* graph;         /* which graph of the model's blob; NULL: the model's own */
  ferry_states* states;      /* states to run on, of the same blob, which the session keeps open; NULL: its own */
  int32_t cores;             /* a ferry_cores: where the session's own threads run */
  const uint64_t* cpu_mask;  /* these CPUs instead: number c is bit c % 64 of word c / 64. Those that are offline, or
                              * that this process may not use, are left out; FERRY_INVALID_ARGUMENT where none is left.
                              * Read when the session is made. NULL: cores */
  size_t cpu_mask_words;
} ferry_session_options;

FERRY_API void ferry_session_options_init(ferry_session_options* options);
/* `options` NULL: the defaults. Sessions of one model share its weights, packed ones too. A GPU that cannot be used
 * does not fail the call unless gpu_required: the session runs on the CPU, and ferry_session_report() says why. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_create(ferry_model* model, const ferry_session_options* options,
                                                            ferry_session** session);
/* NULL is allowed. */
FERRY_API void ferry_session_close(ferry_session* session);

/* Takes another shape for input `index` (channels last). On failure the session keeps its former shape. On the CPU, a
 * shape within the bound that the blob gives the input, or that ferry_session_reserve() gave it, costs no planning and
 * allocates nothing, but tables of convolutions; every other is planned anew. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_resize(ferry_session* session, size_t index, const int32_t* shape,
                                                            int32_t rank);
/* The same for all inputs at once, where their shapes must agree: of each tensor, in the inputs' order, shape and rank
 * are read and nothing else. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_resize_inputs(ferry_session* session, const ferry_tensor* inputs,
                                                                   size_t count);
/* Makes room for these shapes of all inputs, read as by ferry_session_resize_inputs(), and keeps the present ones. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_reserve(ferry_session* session, const ferry_tensor* inputs,
                                                             size_t count);
/* Tensors to write before a run and to read after it. Inputs keep their contents from run to run. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_input(ferry_session* session, size_t index, ferry_tensor* out);
FERRY_NODISCARD FERRY_API ferry_status ferry_session_output(ferry_session* session, size_t index, ferry_tensor* out);
/* FERRY_NOT_FOUND where the model has no such tap or the session was not asked to keep it. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_tap(ferry_session* session, const char* name, ferry_tensor* out);

/* Computes outputs (and taps) from inputs. FERRY_CANCELLED: outputs hold no result. FERRY_INVALID_ARGUMENT: an input
 * holds an index that lies outside what it points into, or another run uses the states; outputs hold no result.
 * FERRY_STATE_FULL: a state has no room for what the run would append. After any failure the states hold what they held
 * before. A run allocates nothing, but where a state outgrows its memory (see ferry_states_reserve), and on a GPU where
 * one has another length. Where the GPU is lost or fails meanwhile, the run is completed on the CPU, gpu_required or
 * not, and so are all later ones of this session. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_run(ferry_session* session);

/* How a run ended, in the session's own thread: results may be read there, ferry_last_error() has the sentence to
 * `status`, and a new run may be begun, after which the callback makes no more calls on the session. It must neither
 * close the session nor wait for it. */
typedef void (*ferry_run_callback)(ferry_session* session, ferry_status status, void* user);
/* Begins a run and returns. `callback` (NULL: none) is called at its end. Leave inputs alone meanwhile. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_run_async(ferry_session* session, ferry_run_callback callback,
                                                               void* user);
/* Waits until no run is under way and no callback at work; returns how the last run ended that was begun without
 * waiting, FERRY_OK where there was none. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_wait(ferry_session* session);

/* Asks the run in progress, or that was begun without waiting, to stop: on the CPU within the operator at work, on a
 * GPU after the operators that were handed to it together. Without a run it does nothing. Any thread may call it. */
FERRY_API void ferry_session_cancel(ferry_session* session);

/* Bytes of the planned arena: activations, workspaces, inputs and outputs. */
FERRY_API uint64_t ferry_session_arena_bytes(const ferry_session* session);
/* Bytes of weights in the backend's packed layout, shared by the model's sessions. */
FERRY_API uint64_t ferry_session_packed_bytes(const ferry_session* session);

/* One operator's share of the last run; only where options.profile was set. */
typedef struct ferry_profile_entry {
  const char* name;    /* the framework's module name */
  const char* op;      /* "conv2d" */
  const char* backend; /* "cpu" or "gpu" */
  double microseconds; /* 0: computed with a later one, whose time is of both */
  int32_t rank;        /* of the first output */
  int32_t shape[FERRY_MAX_RANK];
} ferry_profile_entry;

FERRY_API size_t ferry_session_profile_count(const ferry_session* session);
FERRY_NODISCARD FERRY_API ferry_status ferry_session_profile(const ferry_session* session, size_t index,
                                                             ferry_profile_entry* out);

/* Where a session runs, and why not elsewhere. Strings are never NULL; they belong to the session and stay valid until
 * it is run, resized or closed. */
typedef struct ferry_report {
  size_t struct_size;        /* set by the caller: sizeof(ferry_report) */
  ferry_backend backend;     /* where the last run was done; where the next one will be if there was none yet */
  ferry_status gpu_status;   /* why a GPU that was asked for is not used or was left; FERRY_OK otherwise */
  const char* message;       /* the sentence to gpu_status; "" for FERRY_OK */
  const char* device;        /* the GPU's name; "" on the CPU */
  const char* driver;        /* its driver and version; "" on the CPU */
  ferry_precision precision; /* as it is stored */
  size_t gpu_operators;
  size_t cpu_operators;   /* in a session on the GPU: those that run on the CPU for want of a kernel */
  size_t transfers;       /* values that cross between the two in a run, inputs and outputs included */
  size_t canary_count;    /* shader variants that were tried with a known answer, now or in an earlier run of the app */
  size_t canary_failures; /* of those: variants that this driver computes wrongly; others stand in for them */
  double canary_ms;       /* that it took this session */
  size_t note_count;      /* see ferry_session_report_note() */
  const char* cpus;       /* that its threads keep to, "0-3,6", as they were when it was made; "" where the system does
                           * not say, or with a caller's threadpool */
  size_t threads;         /* including the caller */
} ferry_report;

FERRY_NODISCARD FERRY_API ferry_status ferry_session_report(const ferry_session* session, ferry_report* report);
/* One sentence on what went otherwise than planned: a variant that was replaced, a pipeline that failed... NULL where
 * `index` is out of range. */
FERRY_API const char* ferry_session_report_note(const ferry_session* session, size_t index);

/* ---- states: what a network remembers from run to run -------------------------------------------------------------*/

/* A state is a named tensor with one dimension that grows: a run appends to it what it computed, the keys and values of
 * a token, and reads all that it holds. At most the blob's bound is held; memory is taken as it is needed, at least
 * twice as much each time. Or it is of fixed size (what a recurrent layer makes of all tokens so far): zeros at first,
 * made anew by each run, in two copies, and its length is the number of tokens behind it. Or it has a window: its
 * length goes on, but of what it holds only the last tokens are kept, those that are still seen and between 64 and 127
 * more. A session has states of its own, which ferry_session_states() gives; or several sessions, of one graph or of
 * several, share states that were made here:
 *
 *     ferry_states* states;                                    // a conversation
 *     ferry_states_create(model, &states);
 *     options.states = states;
 *     options.graph = "prefill";                               // many tokens a run
 *     ferry_session_create(model, &options, &prefill);
 *     options.graph = "decode";                                // one token a run
 *     ferry_session_create(model, &options, &decode);
 *     ...
 *     ferry_states_truncate(states, kept);                     // go back to an earlier token
 *     ferry_states_close(states);                              // the sessions go on holding them
 *
 * One run uses states at a time, and no call below while it does: such calls fail with FERRY_INVALID_ARGUMENT. */

/* All empty. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_create(const ferry_model* model, ferry_states** states);
/* NULL is allowed. */
FERRY_API void ferry_states_close(ferry_states* states);
/* Those of a session, to be closed like any others; FERRY_NOT_FOUND where its graph has none. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_states(const ferry_session* session, ferry_states** states);
FERRY_API size_t ferry_states_count(const ferry_states* states);
/* Name, type and contents of state `index`, as long as it is now (0 elements where it is empty, data NULL before the
 * first run); valid until the next run or change. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_describe(const ferry_states* states, size_t index,
                                                             ferry_tensor* out);
/* The length of the longest: the place that the next token gets. */
FERRY_API int32_t ferry_states_length(const ferry_states* states);
/* The length that all of them can have. */
FERRY_API int32_t ferry_states_bound(const ferry_states* states);
/* Bytes of memory that they have. */
FERRY_API uint64_t ferry_states_bytes(const ferry_states* states);
/* Memory for a length, or for the bound where that is less, so that runs up to it allocate nothing. Those of fixed size
 * take all that they need, those with a window what runs of one token need. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_reserve(ferry_states* states, int32_t length);
/* Forgets everything. Memory is kept. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_reset(ferry_states* states);
/* Every state that is longer keeps its first `length`. FERRY_UNSUPPORTED, and nothing changes, where one of fixed size
 * is longer: it goes back to 0 alone; or where one with a window has dropped what would be seen from there. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_truncate(ferry_states* states, int32_t length);
/* Contents as a file, written beside `path` and renamed; it fits the blob that it was made with, and this version of
 * the blob only. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_save(const ferry_states* states, const char* path);
/* Replaces all contents by a file's. On failure they stay as they were. FERRY_IO_ERROR; FERRY_CORRUPT: damaged, no such
 * file, or of another model; FERRY_UNSUPPORTED_VERSION. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_load(ferry_states* states, const char* path);
/* The same with bytes of the app's own in the file, what belongs to the states: NULL and 0 for none. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_save_with(const ferry_states* states, const char* path,
                                                              const void* note, size_t note_bytes);
/* Is given them when the file has been read and before anything is replaced, with the length of its longest state;
 * `note` lives as long as the call. They are what a stranger may have written. Where it returns another status than
 * FERRY_OK, the load fails with that and with the sentence of ferry_last_error(), and the states stay as they were. It
 * makes no call that takes the states. */
typedef ferry_status (*ferry_states_reader)(void* user, const void* note, size_t note_bytes, int32_t length);
/* As ferry_states_load(); `read` NULL: nobody is given the bytes. */
FERRY_NODISCARD FERRY_API ferry_status ferry_states_load_with(ferry_states* states, const char* path,
                                                              ferry_states_reader read, void* user);

/* ---- certificates -------------------------------------------------------------------------------------------------*/

/* What became of a blob's certificates here: inputs and samples of what the framework that trained the model computed
 * from them, stage by stage, stored by the converter. Strings are never NULL and belong to the model. */
typedef struct ferry_verification {
  size_t struct_size; /* set by the caller: sizeof(ferry_verification) */
  bool passed;        /* every stage is within its bound */
  size_t stage_count; /* outputs and taps that were compared, of all graphs */
  const char*
      stage;    /* the first out of bounds, in the order of the network; where passed, the one nearest to its bound */
  double error; /* there: the largest absolute error of the samples, over the reference's absolute maximum where the
                        * bound is relative; infinite for what is not a number */
  double bound; /* what it may be at most */
  double error_at_conversion; /* what the converter measured there, on its CPU */
  const char* fixture;        /* the name of the reference run */
  const char* library;        /* that made it: "timm 1.0.29" */
  const char* graph;          /* the one that gives `stage`: as ferry_model_graph_name() */
} ferry_verification;

/* Runs every graph of the model's blob that has a certificate, on the certificate's inputs, and compares every stage.
 * The first graph's outputs go into the others where these are said to take them. Sessions are its own, made with
 * `options` (NULL: the defaults; taps, graph and states are ignored). It takes one inference and little more. FERRY_OK
 * where this could be done: out->passed is the answer. FERRY_NOT_FOUND: no graph has a certificate.
 * FERRY_INVALID_ARGUMENT: float16, for which its bounds are not made. FERRY_CORRUPT: a certificate does not fit its
 * graph. */
FERRY_NODISCARD FERRY_API ferry_status ferry_model_verify(ferry_model* model, const ferry_session_options* options,
                                                          ferry_verification* out);

/* ---- GPUs ---------------------------------------------------------------------------------------------------------*/

typedef enum ferry_gpu_type {
  FERRY_GPU_OTHER = 0,
  FERRY_GPU_INTEGRATED = 1,
  FERRY_GPU_DISCRETE = 2,
  FERRY_GPU_VIRTUAL = 3,
  FERRY_GPU_SOFTWARE = 4 /* a CPU that plays one */
} ferry_gpu_type;

typedef struct ferry_gpu_info {
  size_t struct_size; /* set by the caller: sizeof(ferry_gpu_info) */
  ferry_gpu_type type;
  int32_t vulkan_major; /* the version that the device offers */
  int32_t vulkan_minor;
  uint64_t memory_bytes; /* of its largest heap of its own */
  char name[256];
  char driver[256];  /* name and version in words */
  char problem[256]; /* why it cannot serve, one sentence; "" where it can */
} ferry_gpu_info;

/* Devices that Vulkan finds, those that cannot serve included. 0: none; ferry_last_error() says why. */
FERRY_API size_t ferry_gpu_count(void);
/* FERRY_GPU_UNAVAILABLE: there is no Vulkan. */
FERRY_NODISCARD FERRY_API ferry_status ferry_gpu_describe(size_t index, ferry_gpu_info* info);

/* ---- layouts ------------------------------------------------------------------------------------------------------*/

/* Copies `count` elements given in the framework's layout (tensor->source_layout) into tensor->data, float32 only. */
FERRY_NODISCARD FERRY_API ferry_status ferry_tensor_write_source(const ferry_tensor* tensor, const float* source,
                                                                 size_t count);
/* Copies tensor->data out in the framework's layout, float32 only. */
FERRY_NODISCARD FERRY_API ferry_status ferry_tensor_read_source(const ferry_tensor* tensor, float* destination,
                                                                size_t count);
/* The same for int32 tensors, which hold whatever integers the network has; a truth value is 0 or 1. */
FERRY_NODISCARD FERRY_API ferry_status ferry_tensor_write_source_int32(const ferry_tensor* tensor,
                                                                       const int32_t* source, size_t count);
FERRY_NODISCARD FERRY_API ferry_status ferry_tensor_read_source_int32(const ferry_tensor* tensor, int32_t* destination,
                                                                      size_t count);

#if defined(__cplusplus)
}
#endif
#endif /* FERRY_FERRY_H_ */
