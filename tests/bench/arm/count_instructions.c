/* A qemu-user plugin that counts the arm64 instructions that a program executes, by class and by place.
 *
 *     qemu-aarch64 -plugin count_instructions.so,out=FILE[,cache=on][,l1=KB,l1ways=N,l2=KB,l2ways=N] PROGRAM
 *
 * What is in a block of instructions is classified once, when qemu translates it, from the instructions' own words;
 * then it costs an addition when it runs. Three hints, which do nothing on any processor, steer it from inside the
 * program (region.h): a region begins, it ends, a step within it ends. FILE has, one a line:
 *
 *     step NAME COUNT...              of each step: the classes in their order, bytes loaded and stored, misses of L1
 * and L2     block ADDRESS WORDS RUNS L1 L2 COUNT...    of each block that ran in a region: misses, then what one run
 * counts     total NAME COUNT                of all regions
 *     map ...                         the guest's mappings, so that addresses find their symbols
 *
 * With cache=on every access within a region passes a model of two levels of cache: least recently used lines of 64
 * bytes leave, writes allocate, the second level holds what passed the first, nothing is prefetched.
 *
 * One guest thread is counted exactly; several race. For API 1 of plugins, as in qemu 7.2; its declarations are here
 * because Debian packages no header. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { kNoRegisters = 0, kAdd = 0, kReadsAndWrites = 3 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb*);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn*);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, int operation, void*, uint64_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn*, void (*)(unsigned, void*), int flags, void*);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn*, void (*)(unsigned, uint32_t, uint64_t, void*),
                                      int flags, int kinds, void*);
unsigned qemu_plugin_mem_size_shift(uint32_t);
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void*), void*);
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* fma: multiply-adds of four floats, of two, of float16; dot: products of bytes; fp, integer vectors; permute: moves
 * between lanes; then one float at a time. */
enum {
  kFma4,
  kFma2,
  kFmaFloat16,
  kDot,
  kFpVector,
  kPermute,
  kIntegerVector,
  kFpScalar,
  kVectorLoad,
  kVectorStore,
  kLoad,
  kStore,
  kPrefetch,
  kBranch,
  kInteger,
  kScalable,
  kClasses
};
static const char* const kNames[kClasses] = {
    "fma4",        "fma2",         "fma_half", "dot",   "fp_vector", "permute", "integer_vector", "fp_scalar",
    "vector_load", "vector_store", "load",     "store", "prefetch",  "branch",  "integer",        "scalable"};
enum { kLoaded = kClasses, kStored, kBlockCounts, kL1Misses = kBlockCounts, kL2Misses, kCounts };

typedef struct {
  uint64_t runs, runs_before, runs_in_regions;
  uint64_t address, hash;
  uint64_t l1_misses, l2_misses;
  uint32_t words, counts[kBlockCounts];
} Block;

static const size_t kSlots = 1 << 20;
static Block** g_blocks;
static size_t g_block_count;
static bool g_cache, g_in_region;
static uint64_t g_l1_misses, g_l2_misses;
static FILE* g_file;

/* Instructions. */
static uint32_t bits(uint32_t word, int high, int low) { return (word >> low) & ((1u << (high - low + 1)) - 1); }

static uint32_t bytes_of_lanes(uint32_t word) { /* ld1 to st4 */
  if (!bits(word, 24, 24)) {
    static const uint8_t registers[16] = {4, 0, 4, 0, 3, 0, 3, 1, 2, 0, 2, 0, 0, 0, 0, 0};
    return registers[bits(word, 15, 12)] * (bits(word, 30, 30) ? 16u : 8u);
  }
  const uint32_t registers = (bits(word, 13, 13) << 1 | bits(word, 21, 21)) + 1, scale = bits(word, 15, 14);
  if (scale == 3) return registers * (1u << bits(word, 11, 10));
  return registers * (scale == 0 ? 1u : scale == 1 ? 2u : bits(word, 10, 10) ? 8u : 4u);
}

static int class_of_access(uint32_t word, uint32_t* loaded, uint32_t* stored) {
  const bool vector = bits(word, 26, 26);
  uint32_t bytes;
  bool load;
  if ((word & 0xbe000000) == 0x0c000000) {
    load = bits(word, 22, 22);
    bytes = bytes_of_lanes(word);
  } else if (bits(word, 29, 27) == 5) { /* pairs */
    load = bits(word, 22, 22);
    bytes = vector ? 8u << bits(word, 31, 30) : bits(word, 31, 30) == 2 ? 16u : 8u;
  } else if (bits(word, 29, 27) == 3) { /* literals */
    if (!vector && bits(word, 31, 30) == 3) return kPrefetch;
    load = true;
    bytes = vector ? 4u << bits(word, 31, 30) : bits(word, 31, 30) == 1 ? 8u : 4u;
  } else if (bits(word, 29, 27) == 7) {
    const uint32_t size = bits(word, 31, 30), operation = bits(word, 23, 22);
    if (!vector && size == 3 && operation == 2) return kPrefetch;
    load = vector ? operation & 1 : operation != 0;
    bytes = vector && (operation & 2) ? 16u : 1u << size;
  } else { /* exclusive, ordered, atomic */
    load = bits(word, 22, 22);
    bytes = 1u << bits(word, 31, 30);
  }
  *(load ? loaded : stored) += bytes;
  return vector ? (load ? kVectorLoad : kVectorStore) : load ? kLoad : kStore;
}

static int class_of_fp_and_vectors(uint32_t w) {
  if ((w & 0x5e000000) == 0x1e000000) return kFpScalar;
  if ((w & 0xbf20fc00) == 0x0e20cc00 || (w & 0xbf80b400) == 0x0f801000) /* of doubles: not one in the backends */
    return bits(w, 30, 30) && !bits(w, 22, 22) ? kFma4 : kFma2;
  if ((w & 0xff80b400) == 0x5f801000) return kFpScalar; /* a float by an element */
  if ((w & 0xbfc0b400) == 0x0f001000 || (w & 0xbf60fc00) == 0x0e400c00) return kFmaFloat16;
  if ((w & 0x9f20fc00) == 0x0e009400 || (w & 0x9f00f400) == 0x0f00e000 || (w & 0x9f20f400) == 0x0e00a400 ||
      (w & 0xbfe0fc00) == 0x2e40fc00 || (w & 0xbfe0fc00) == 0x2e40ec00)
    return kDot;
  if ((w & 0xbf208c00) == 0x0e000800 || (w & 0xbfe08400) == 0x2e000000 || (w & 0xbfe08c00) == 0x0e000000 ||
      (w & 0x9fe08400) == 0x0e000400 || (w & 0xffe0fc00) == 0x5e000400)
    return kPermute;
  if ((w & 0x9f200400) == 0x0e200400) { /* three registers of one kind */
    if ((w & 0xbfe0fc00) == 0x0ea01c00 && bits(w, 20, 16) == bits(w, 9, 5)) return kPermute; /* mov */
    return bits(w, 15, 11) >= 24 ? kFpVector : kIntegerVector;
  }
  const uint32_t operation = bits(w, 16, 12);
  if ((w & 0x9f3e0c00) == 0x0e200800) /* two registers */
    return operation >= 24 || (operation >= 12 && operation <= 15) ? kFpVector : kIntegerVector;
  if ((w & 0x9f3e0c00) == 0x0e300800) return operation >= 12 && operation <= 15 ? kFpVector : kIntegerVector;
  if ((w & 0x9f80f400) == 0x0f809000) return kFpVector;                                   /* fmul by an element */
  if ((w & 0x9f80fc00) == 0x0f00e400 || (w & 0x9f80fc00) == 0x0f00fc00) return kFpVector; /* to and from fixed point */
  if ((w & 0xdf000000) == 0x5e000000) return kFpScalar;
  return kIntegerVector;
}

static int classify(uint32_t word, uint32_t* loaded, uint32_t* stored) {
  const uint32_t group = bits(word, 28, 25);
  if (group == 0 || group == 2) return kScalable;
  if ((group & 14) == 8 || (group & 7) == 5) return kInteger;
  if ((group & 14) == 10)
    return bits(word, 31, 22) == 0x354 ? kInteger : kBranch; /* hints, barriers, system registers */
  if ((group & 5) == 4) return class_of_access(word, loaded, stored);
  return class_of_fp_and_vectors(word);
}

/* Caches. */
typedef struct {
  uint64_t* lines; /* of each set, the one used last first */
  unsigned ways, sets, kb;
} Cache;
static Cache g_l1 = {NULL, 4, 0, 32}, g_l2 = {NULL, 16, 0, 512};

static bool hits(Cache* cache, uint64_t line) {
  uint64_t* set = cache->lines + (line & (cache->sets - 1)) * cache->ways;
  if (set[0] == line) return true;
  unsigned i = 1;
  while (i < cache->ways && set[i] != line) ++i;
  const bool hit = i < cache->ways;
  memmove(set + 1, set, (hit ? i : cache->ways - 1) * sizeof *set);
  set[0] = line;
  return hit;
}

static void access_line(Block* block, uint64_t line) {
  if (hits(&g_l1, line)) return;
  ++g_l1_misses;
  ++block->l1_misses;
  if (hits(&g_l2, line)) return;
  ++g_l2_misses;
  ++block->l2_misses;
}

static void on_access(unsigned cpu, uint32_t info, uint64_t address, void* block) {
  (void)cpu;
  if (!g_in_region) return;
  const uint64_t first = address >> 6, last = (address + (1u << qemu_plugin_mem_size_shift(info)) - 1) >> 6;
  access_line(block, first);
  if (last != first) access_line(block, last);
}

/* Regions and steps. */
static uint64_t g_last[kCounts];

static void end_step(const char* name) { /* null: count from here */
  uint64_t now[kCounts] = {0};
  for (size_t i = 0; i < kSlots; ++i) {
    const Block* block = g_blocks[i];
    if (block == NULL || block->runs == 0) continue;
    for (int c = 0; c < kBlockCounts; ++c) now[c] += block->runs * block->counts[c];
  }
  now[kL1Misses] = g_l1_misses;
  now[kL2Misses] = g_l2_misses;
  if (name != NULL) {
    fprintf(g_file, "step %s", name);
    for (int c = 0; c < kCounts; ++c) fprintf(g_file, " %" PRIu64, now[c] - g_last[c]);
    fputc('\n', g_file);
  }
  memcpy(g_last, now, sizeof now);
}

static void on_begin(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  end_step(NULL);
  for (size_t i = 0; i < kSlots; ++i)
    if (g_blocks[i] != NULL) g_blocks[i]->runs_before = g_blocks[i]->runs;
  g_in_region = true;
}

static void on_end(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  if (!g_in_region) return;
  g_in_region = false;
  end_step("rest");
  for (size_t i = 0; i < kSlots; ++i)
    if (g_blocks[i] != NULL) g_blocks[i]->runs_in_regions += g_blocks[i]->runs - g_blocks[i]->runs_before;
}

static void on_step(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  if (g_in_region) end_step("step");
}

/* Blocks. */
static Block* block_at(uint64_t address, uint64_t hash, uint32_t words, bool* fresh) {
  if (g_block_count * 2 > kSlots) {
    fprintf(stderr, "count_instructions: more than %zu blocks of instructions\n", kSlots / 2);
    exit(9);
  }
  for (size_t i = (address >> 2 ^ hash) * 0x9e3779b97f4a7c15u >> 44;; i = (i + 1) & (kSlots - 1)) {
    Block* block = g_blocks[i];
    *fresh = block == NULL;
    if (*fresh) {
      block = g_blocks[i] = calloc(1, sizeof *block);
      block->address = address, block->hash = hash, block->words = words;
      ++g_block_count;
    }
    if (block->address == address && block->hash == hash && block->words == words) return block;
  }
}

static uint32_t word_of(struct qemu_plugin_insn* instruction) {
  uint32_t word;
  memcpy(&word, qemu_plugin_insn_data(instruction), sizeof word);
  return word;
}

static void on_translate(plugin_id id, struct qemu_plugin_tb* tb) {
  (void)id;
  const size_t words = qemu_plugin_tb_n_insns(tb);
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < words; ++i) hash = (hash ^ word_of(qemu_plugin_tb_get_insn(tb, i))) * 1099511628211u;
  bool fresh;
  Block* block = block_at(qemu_plugin_tb_vaddr(tb), hash, (uint32_t)words, &fresh);
  qemu_plugin_register_vcpu_tb_exec_inline(tb, kAdd, &block->runs, 1);
  for (size_t i = 0; i < words; ++i) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(tb, i);
    const uint32_t word = word_of(instruction);
    if (fresh) ++block->counts[classify(word, &block->counts[kLoaded], &block->counts[kStored])];
    void (*const hint)(unsigned, void*) = word == 0xd5032c9f   ? on_begin
                                          : word == 0xd5032cbf ? on_end
                                          : word == 0xd5032cdf ? on_step
                                                               : NULL;
    if (hint != NULL) qemu_plugin_register_vcpu_insn_exec_cb(instruction, hint, kNoRegisters, NULL);
    if (g_cache) qemu_plugin_register_vcpu_mem_cb(instruction, on_access, kNoRegisters, kReadsAndWrites, block);
  }
}

static void on_exit_of_program(plugin_id id, void* data) {
  (void)id, (void)data;
  uint64_t totals[kBlockCounts] = {0};
  for (size_t i = 0; i < kSlots; ++i) {
    const Block* block = g_blocks[i];
    if (block == NULL || block->runs_in_regions == 0) continue;
    fprintf(g_file, "block %" PRIx64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64, block->address, block->words,
            block->runs_in_regions, block->l1_misses, block->l2_misses);
    for (int c = 0; c < kBlockCounts; ++c) {
      fprintf(g_file, " %u", block->counts[c]);
      totals[c] += block->runs_in_regions * block->counts[c];
    }
    fputc('\n', g_file);
  }
  for (int c = 0; c < kClasses; ++c) fprintf(g_file, "total %s %" PRIu64 "\n", kNames[c], totals[c]);
  fprintf(g_file, "total bytes_loaded %" PRIu64 "\ntotal bytes_stored %" PRIu64 "\n", totals[kLoaded], totals[kStored]);
  fprintf(g_file, "total l1_misses %" PRIu64 "\ntotal l2_misses %" PRIu64 "\n", g_l1_misses, g_l2_misses);
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1024];
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) fprintf(g_file, "map %s", line);
  if (maps != NULL) fclose(maps);
  fclose(g_file);
}

static bool make_cache(Cache* cache) {
  cache->sets = cache->ways > 0 ? cache->kb * 1024 / 64 / cache->ways : 0;
  if (cache->sets == 0 || (cache->sets & (cache->sets - 1))) {
    fprintf(stderr, "count_instructions: %u KB in %u ways: the number of sets must be a power of two\n", cache->kb,
            cache->ways);
    return false;
  }
  const size_t bytes = sizeof(uint64_t) * cache->sets * cache->ways;
  cache->lines = malloc(bytes);
  memset(cache->lines, 0xff, bytes);
  return true;
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void* info, int argc, char** argv) {
  (void)info;
  const char* out = "count_instructions.txt";
  for (int i = 0; i < argc; ++i) {
    if (!strncmp(argv[i], "out=", 4)) {
      out = argv[i] + 4;
    } else if (!strcmp(argv[i], "cache=on")) {
      g_cache = true;
    } else if (sscanf(argv[i], "l1=%u", &g_l1.kb) != 1 && sscanf(argv[i], "l2=%u", &g_l2.kb) != 1 &&
               sscanf(argv[i], "l1ways=%u", &g_l1.ways) != 1 && sscanf(argv[i], "l2ways=%u", &g_l2.ways) != 1) {
      fprintf(stderr, "count_instructions: no option is called '%s'\n", argv[i]);
      return 1;
    }
  }
  g_file = fopen(out, "w");
  if (g_file == NULL) {
    perror(out);
    return 1;
  }
  g_blocks = calloc(kSlots, sizeof *g_blocks);
  if (!make_cache(&g_l1) || !make_cache(&g_l2)) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
  qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
  return 0;
}
