/*
 * elements_micro: does a value of ten million elements ever hold up its shard?
 *
 *     elements_micro              hash, set and sorted set
 *     elements_micro hash [N [ROUNDS]]   one of them, with N elements; of ROUNDS the best counts
 *
 * Each is filled element by element, half of it is deleted again in the same way, the rest expires:
 * a hash's fields by their own times to live, the others with their key. Then it is filled once
 * more and deleted as a key. What a command does is measured for eight in a row, what is done in
 * slices, by the slice, in microseconds of the thread's CPU time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/os/clock.h"
#include "core/type/hash.h"
#include "core/type/set.h"
#include "core/type/zset.h"
#include "shards/local/db.h"
#include "shards/local/fields.h"
#include "shards/local/shard.h"

#define COUNT 10000000u
#define STEP 8u /* changes between two looks at the clock */
#define ROUNDS 3
#define LIVES_MS 100000

/* What is measured, in the order of its happening. */
enum phase { GROW, SHRINK, EXPIRE, FREE, PHASES };
static const char *const phase_names[PHASES] = {
    [GROW] = "grow, 8 commands in a row",
    [SHRINK] = "shrink, 8 commands in a row",
    [EXPIRE] = "expire, a slice",
    [FREE] = "delete, a slice",
};

static struct config config = {
    .databases = 16,
    .hash_seed = 1,
    .active_expire_effort = 1,
    .hash_limits = {.field_count = 128, .text_len = 64},
    .set_limits = {.number_count = 512, .text_count = 128, .text_len = 64},
    .zset_limits = {.member_count = 128, .text_len = 64},
};

struct bench {
    struct shard *shard;
    struct db *db;
    struct key key;
    struct value *value;
    uint32_t count;
    uint32_t *shortest_ns[2]; /* of each step of GROW and SHRINK, over all rounds; shared */
    struct slices {
        uint64_t total_ns, longest_ns, count;
    } slices[PHASES];
};

/* One type: how an element comes and goes. */
struct kind {
    const char *name;
    enum type type;
    void *(*create)(struct bench *bench);
    void (*add)(struct bench *bench, struct bytes name, uint32_t number);
    void (*remove)(struct bench *bench, struct bytes name);
    bool fields_expire; /* elements have times of their own */
};

/* ---- Types --------------------------------------------------------------------------------- */

static void *create_hash(struct bench *bench)
{
    return hash_create(bench->shard->heap);
}

static void add_field(struct bench *bench, struct bytes name, uint32_t number)
{
    (void)number;
    struct hash *hash = value_edit_root(bench->value);
    struct hash_pair pair = {name, BYTES("a value"), bench->shard->now_ms + LIVES_MS};
    (void)hash_put_pair(&hash, bench->shard->heap, &config.hash_limits, pair);
    fields_put_back(bench->db, &bench->key, bench->value, hash);
}

static void remove_field(struct bench *bench, struct bytes name)
{
    struct hash *hash = value_edit_root(bench->value);
    bool found = hash_delete(&hash, bench->shard->heap, name);
    ASSERT(found);
    fields_put_back(bench->db, &bench->key, bench->value, hash);
}

static void *create_set(struct bench *bench)
{
    return set_create(bench->shard->heap);
}

static void add_member(struct bench *bench, struct bytes name, uint32_t number)
{
    (void)number;
    (void)set_add(value_edit_root(bench->value), bench->shard->heap, &config.set_limits, name);
}

static void remove_member(struct bench *bench, struct bytes name)
{
    bool found = set_remove(value_edit_root(bench->value), bench->shard->heap, name);
    ASSERT(found);
}

static void *create_zset(struct bench *bench)
{
    return zset_create(bench->shard->heap);
}

static void add_scored(struct bench *bench, struct bytes name, uint32_t number)
{
    double score = (double)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    (void)zset_put(value_edit_root(bench->value), bench->shard->heap, &config.zset_limits, name,
                   score);
}

static void remove_scored(struct bench *bench, struct bytes name)
{
    bool found = zset_delete(value_edit_root(bench->value), bench->shard->heap, name);
    ASSERT(found);
}

static const struct kind kinds[] = {
    {"hash", TYPE_HASH, create_hash, add_field, remove_field, true},
    {"set", TYPE_SET, create_set, add_member, remove_member, false},
    {"sorted set", TYPE_ZSET, create_zset, add_scored, remove_scored, false},
};

/* ---- A round ------------------------------------------------------------------------------- */

static struct bytes element_name(char text[32], uint32_t number)
{
    return bytes_of(text, (size_t)snprintf(text, 32, "element:%010u", number));
}

static void change_all(struct bench *bench, const struct kind *kind, enum phase phase,
                       uint32_t count)
{
    uint64_t last_ns = clock_thread_cpu_ns();
    for (uint32_t i = 0; i < count; i++) {
        char text[32];
        if (phase == GROW)
            kind->add(bench, element_name(text, i), i);
        else
            kind->remove(bench, element_name(text, i));
        if (i % STEP != STEP - 1)
            continue;
        uint64_t now_ns = clock_thread_cpu_ns();
        uint32_t took_ns = (uint32_t)(now_ns - last_ns);
        if (took_ns < bench->shortest_ns[phase][i / STEP])
            bench->shortest_ns[phase][i / STEP] = took_ns;
        last_ns = now_ns;
    }
}

static void run_slices(struct bench *bench, enum phase phase)
{
    struct slices *slices = &bench->slices[phase];
    for (bool more = true; more; slices->count++) {
        uint64_t from_ns = clock_thread_cpu_ns();
        more = task_run(&bench->shard->tasks, SLICE_US);
        uint64_t took_ns = clock_thread_cpu_ns() - from_ns;
        slices->total_ns += took_ns;
        slices->longest_ns = took_ns > slices->longest_ns ? took_ns : slices->longest_ns;
    }
}

static void create_key(struct bench *bench, const struct kind *kind)
{
    bench->value = db_put_root(bench->db, &bench->key, kind->type, kind->create(bench),
                               DB_NO_EXPIRE);
}

static void expire_rest(struct bench *bench, const struct kind *kind)
{
    if (!kind->fields_expire)
        db_set_expire(bench->db, &bench->key, bench->shard->now_ms + LIVES_MS);
    int64_t now_ms = bench->shard->now_ms + LIVES_MS + 1;
    for (; db_size(bench->db) > 0; now_ms += 100) {
        uint64_t from_ns = clock_thread_cpu_ns();
        shard_cron(bench->shard, now_ms);
        uint64_t took_ns = clock_thread_cpu_ns() - from_ns;
        struct slices *slices = &bench->slices[EXPIRE];
        slices->longest_ns = took_ns > slices->longest_ns ? took_ns : slices->longest_ns;
        run_slices(bench, EXPIRE);
    }
}

static void run_round(struct bench *bench, const struct kind *kind)
{
    bench->shard = shard_create(0, -1, &config);
    shard_tick(bench->shard, clock_wall_ms());
    bench->db = bench->shard->dbs[0];
    bench->key = key_make(BYTES("key"));

    create_key(bench, kind);
    change_all(bench, kind, GROW, bench->count);
    change_all(bench, kind, SHRINK, bench->count / 2);
    expire_rest(bench, kind);

    create_key(bench, kind);
    change_all(bench, kind, GROW, bench->count);
    uint64_t from_ns = clock_thread_cpu_ns();
    (void)db_delete(bench->db, &bench->key);
    bench->slices[FREE].longest_ns = clock_thread_cpu_ns() - from_ns;
    run_slices(bench, FREE);
    shard_destroy(bench->shard);
}

/* ---- All rounds ---------------------------------------------------------------------------- */

static uint32_t *shared_steps(uint32_t count)
{
    size_t bytes = (count / STEP + 1) * sizeof(uint32_t);
    void *steps = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (steps == MAP_FAILED)
        exit(1);
    memset(steps, 0xff, bytes);
    return steps;
}

static void report(const char *kind, enum phase phase, double total_ns, double longest_ns,
                   uint32_t count)
{
    printf("| %s | %s | %.0f | %.0f |\n", kind, phase_names[phase], total_ns / count,
           longest_ns / 1000);
}

static void report_steps(const struct bench *bench, const struct kind *kind, enum phase phase,
                         uint32_t count)
{
    uint64_t total_ns = 0;
    uint32_t longest_ns = 0;
    for (uint32_t i = 0; i < count / STEP; i++) {
        uint32_t ns = bench->shortest_ns[phase][i];
        total_ns += ns;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    report(kind->name, phase, (double)total_ns, longest_ns, count);
}

/* Each round in a process of its own. Of the same commands the shortest time counts, since they do
 * the same work and what the machine adds falls elsewhere each time; of slices, the round whose
 * longest was the shortest. */
static void measure(const struct kind *kind, uint32_t count, uint32_t rounds)
{
    struct bench *best = mmap(NULL, sizeof *best, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (best == MAP_FAILED)
        exit(1);
    *best = (struct bench){.count = count,
                           .shortest_ns = {shared_steps(count), shared_steps(count)}};
    for (uint32_t round = 0; round < rounds; round++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct bench bench = {
                .count = count,
                .shortest_ns = {best->shortest_ns[GROW], best->shortest_ns[SHRINK]}};
            run_round(&bench, kind);
            for (enum phase phase = EXPIRE; phase < PHASES; phase++) {
                if (round == 0 || bench.slices[phase].longest_ns < best->slices[phase].longest_ns)
                    best->slices[phase] = bench.slices[phase];
            }
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0)
            exit(1);
    }
    report_steps(best, kind, GROW, count);
    report_steps(best, kind, SHRINK, count / 2);
    for (enum phase phase = EXPIRE; phase < PHASES; phase++)
        report(kind->name, phase, (double)best->slices[phase].total_ns,
               (double)best->slices[phase].longest_ns, phase == EXPIRE ? count / 2 : count);
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : COUNT;
    uint32_t rounds = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : ROUNDS;
    key_seed(1);
    fingerprint_seed(1);
    printf("| %u elements | | ns an element | longest, us of thread time |\n"
           "|---|---|---:|---:|\n",
           count);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (argc < 2 || strcmp(argv[1], kinds[i].name) == 0)
            measure(&kinds[i], count, rounds);
    }
    return 0;
}
