/*
 * How memory is counted: every thread and every heap has an account, one cache line with a running
 * total that only its current owner writes. Adding to one's own total is two plain instructions;
 * whoever wants the sum reads all lines. A thread's total may be negative, since it may free what
 * another has allocated: only the sum has a meaning.
 *
 * The first account is shared by threads that are coming to their end (and by whatever they free
 * after their account was closed), and is the only one that needs an atomic addition.
 *
 * Without jemalloc (sanitizers bring their own allocator) a pool is the general allocator, and
 * what blocks take is what was asked for, so that every byte beyond is seen as an overflow.
 */
#include "core/base/mem.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SHERD_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

#include "core/base/check.h"

#define SHARED_ACCOUNT (&accounts[0])
#define MPOL_PREFERRED_MODE 1 /* mbind(2): another node when this one is full */
#define NODE_MAX 64
#define POOL_DECAY_MS 1000 /* how long a pool keeps unused pages: data that grows leaves many */

static struct mem_account accounts[MEM_ACCOUNTS_MAX];
static _Atomic uint32_t account_high = 1; /* accounts from here on were never taken */
static _Atomic size_t peak;

static pthread_once_t thread_exit_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_exit_key;
static _Thread_local struct mem_account *thread_account;

_Noreturn void mem_exhausted(size_t size)
{
    fprintf(stderr, "sherd: out of memory: %zu bytes were wanted\n", size);
    abort();
}

/* ---- Accounts ---- */

static struct mem_account *claim_account(void)
{
    for (uint32_t i = 1; i < MEM_ACCOUNTS_MAX; i++) {
        bool taken = false;
        if (!atomic_compare_exchange_strong(&accounts[i].taken, &taken, true))
            continue;
        uint32_t high = atomic_load(&account_high);
        while (high <= i && !atomic_compare_exchange_weak(&account_high, &high, i + 1))
            continue;
        return &accounts[i];
    }
    return NULL;
}

struct mem_account *mem_account_open(void)
{
    struct mem_account *account = claim_account();
    ASSERT(account != NULL);
    return account;
}

void mem_account_close(struct mem_account *account)
{
    if (!account)
        return;
    atomic_store(&account->bytes, 0);
    atomic_store(&account->taken, false);
}

static void close_thread_account(void *context)
{
    struct mem_account *account = context;
    atomic_fetch_add(&SHARED_ACCOUNT->bytes, mem_account_bytes(account));
    mem_account_close(account);
    thread_account = SHARED_ACCOUNT;
}

static void create_thread_exit_key(void)
{
    ASSERT(pthread_key_create(&thread_exit_key, close_thread_account) == 0);
}

static struct mem_account *open_thread_account(void)
{
    pthread_once(&thread_exit_once, create_thread_exit_key);
    struct mem_account *account = claim_account();
    if (account && pthread_setspecific(thread_exit_key, account) != 0) {
        mem_account_close(account);
        account = NULL;
    }
    thread_account = account ? account : SHARED_ACCOUNT;
    return thread_account;
}

static void count(int64_t delta)
{
    struct mem_account *account = thread_account;
    if (unlikely(!account))
        account = open_thread_account();
    if (likely(account != SHARED_ACCOUNT))
        mem_account_add(account, delta);
    else
        atomic_fetch_add_explicit(&account->bytes, delta, memory_order_relaxed);
}

size_t mem_used(void)
{
    int64_t sum = 0;
    uint32_t high = atomic_load_explicit(&account_high, memory_order_acquire);
    for (uint32_t i = 0; i < high; i++)
        sum += mem_account_bytes(&accounts[i]);

    size_t used = sum > 0 ? (size_t)sum : 0;
    size_t seen = atomic_load_explicit(&peak, memory_order_relaxed);
    while (used > seen && !atomic_compare_exchange_weak_explicit(
                              &peak, &seen, used, memory_order_relaxed, memory_order_relaxed))
        continue;
    return used;
}

size_t mem_used_peak(void)
{
    mem_used();
    return atomic_load_explicit(&peak, memory_order_relaxed);
}

/* ---- General memory ---- */

static void *counted(void *ptr)
{
    if (likely(ptr != NULL))
        count((int64_t)malloc_usable_size(ptr));
    return ptr;
}

void *mem_try_alloc(size_t size)
{
    return counted(malloc(size ? size : 1));
}

void *mem_alloc(size_t size)
{
    void *ptr = mem_try_alloc(size);
    if (unlikely(!ptr))
        mem_exhausted(size);
    return ptr;
}

void *mem_zalloc(size_t size)
{
    void *ptr = counted(calloc(1, size ? size : 1));
    if (unlikely(!ptr))
        mem_exhausted(size);
    return ptr;
}

void *mem_alloc_aligned(size_t size, size_t align)
{
    void *ptr = NULL;
    if (unlikely(posix_memalign(&ptr, align, size) != 0))
        mem_exhausted(size);
    return counted(ptr);
}

void *mem_try_realloc(void *ptr, size_t size)
{
    size_t old_bytes = ptr ? malloc_usable_size(ptr) : 0;
    void *new_ptr = realloc(ptr, size ? size : 1);
    if (likely(new_ptr != NULL))
        count((int64_t)malloc_usable_size(new_ptr) - (int64_t)old_bytes);
    return new_ptr;
}

void *mem_realloc(void *ptr, size_t size)
{
    void *new_ptr = mem_try_realloc(ptr, size);
    if (unlikely(!new_ptr))
        mem_exhausted(size);
    return new_ptr;
}

char *mem_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

void mem_free(void *ptr)
{
    if (!ptr)
        return;
    count(-(int64_t)malloc_usable_size(ptr));
    free(ptr);
}

/* ---- Pools and the allocator itself ---- */

#ifdef SHERD_JEMALLOC

static unsigned create_number(const char *name)
{
    unsigned number;
    size_t len = sizeof number;
    ASSERT(mallctl(name, &number, &len, NULL, 0) == 0);
    return number;
}

/* A pool's cache may hold blocks of other pools, which go back to their arenas when the cache ends.
 * So no arena ends before the last pool has: until then they wait in this list. */
struct ended_arena {
    unsigned arena;
    struct ended_arena *next;
};

static _Atomic(struct ended_arena *) ended_arenas;
static _Atomic uint32_t pool_count;

static pthread_once_t purger_once = PTHREAD_ONCE_INIT;

/* Pages that have been unused for some seconds go back to the system. jemalloc does that in
 * passing, by whoever allocates: nobody while idle, and many at once later. A thread of its own
 * does it in time and off the data path. It inherits the affinity of the first to make a pool, so
 * that had better not be a pinned thread. */
static void start_purger(void)
{
    size_t one = 1;
    bool yes = true;
    /* Where it is refused, pages go back in passing. */
    if (mallctl("max_background_threads", NULL, NULL, &one, sizeof one) == 0)
        mallctl("background_thread", NULL, NULL, &yes, sizeof yes);
}

void mem_pool_init(struct mem_pool *pool)
{
    pthread_once(&purger_once, start_purger);
    atomic_fetch_add(&pool_count, 1);
    pool->arena = create_number("arenas.create");
    pool->tcache = create_number("tcache.create");
    pool->flags = (int)(MALLOCX_ARENA(pool->arena) | MALLOCX_TCACHE(pool->tcache));
    char name[48];
    ssize_t decay_ms = POOL_DECAY_MS;
    snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", pool->arena);
    ASSERT(mallctl(name, NULL, NULL, &decay_ms, sizeof decay_ms) == 0);
}

static void destroy_arena(unsigned arena)
{
    char name[48];
    snprintf(name, sizeof name, "arena.%u.destroy", arena);
    ASSERT(mallctl(name, NULL, NULL, NULL, 0) == 0);
}

void mem_pool_fini(struct mem_pool *pool)
{
    ASSERT(mallctl("tcache.destroy", NULL, NULL, &pool->tcache, sizeof pool->tcache) == 0);
    struct ended_arena *ended = mem_alloc(sizeof *ended);
    ended->arena = pool->arena;
    ended->next = atomic_load(&ended_arenas);
    while (!atomic_compare_exchange_weak(&ended_arenas, &ended->next, ended))
        continue;
    if (atomic_fetch_sub(&pool_count, 1) != 1)
        return;
    ended = atomic_exchange(&ended_arenas, NULL);
    while (ended) {
        struct ended_arena *next = ended->next;
        destroy_arena(ended->arena);
        mem_free(ended);
        ended = next;
    }
}

void *mem_pool_alloc(struct mem_pool *pool, size_t size)
{
    /* Size classes above 1 KiB are multiples of 256 in runs that start a page: no MALLOCX_ALIGN. */
    return mallocx(size, pool->flags);
}

void mem_pool_free(struct mem_pool *pool, void *ptr, size_t size)
{
    sdallocx(ptr, size, pool->flags);
}

size_t mem_pool_usable(size_t size)
{
    return nallocx(size, 0);
}

static size_t read_size(const char *name)
{
    size_t value = 0, len = sizeof value;
    return mallctl(name, &value, &len, NULL, 0) == 0 ? value : 0;
}

struct mem_allocator_stats mem_allocator_stats(void)
{
    uint64_t epoch = 1;
    size_t len = sizeof epoch;
    if (mallctl("epoch", &epoch, &len, &epoch, len) != 0)
        return (struct mem_allocator_stats){0};
    return (struct mem_allocator_stats){
        .allocated = read_size("stats.allocated"),
        .active = read_size("stats.active"),
        .resident = read_size("stats.resident"),
    };
}

const char *mem_allocator_name(void)
{
    return "jemalloc-" JEMALLOC_VERSION;
}

void mem_allocator_report(void (*write)(void *context, const char *text), void *context)
{
    malloc_stats_print(write, context, NULL);
}

void mem_release_unused(void)
{
    char name[48];
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    snprintf(name, sizeof name, "arena.%u.purge", (unsigned)MALLCTL_ARENAS_ALL);
    mallctl(name, NULL, NULL, NULL, 0);
}

#else

/* Sanitizers end the process when a size is too large, unless told to answer as malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

void mem_pool_init(struct mem_pool *pool)
{
    *pool = (struct mem_pool){0};
}

void mem_pool_fini(struct mem_pool *pool)
{
    (void)pool; /* heap.c frees each block of a pool by itself */
}

void *mem_pool_alloc(struct mem_pool *pool, size_t size)
{
    (void)pool;
    void *ptr = NULL;
    return posix_memalign(&ptr, 64, size) == 0 ? ptr : NULL;
}

void mem_pool_free(struct mem_pool *pool, void *ptr, size_t size)
{
    (void)pool;
    (void)size;
    free(ptr);
}

size_t mem_pool_usable(size_t size)
{
    return size;
}

struct mem_allocator_stats mem_allocator_stats(void)
{
    return (struct mem_allocator_stats){0};
}

const char *mem_allocator_name(void)
{
    return "libc";
}

void mem_allocator_report(void (*write)(void *context, const char *text), void *context)
{
    write(context, "This allocator has no report.\n");
}

void mem_release_unused(void)
{
    malloc_trim(0);
}

#endif

/* ---- Pages ---- */

void *mem_map(size_t size, size_t align, int node)
{
    /* Maps enough that an aligned run lies within, and gives the ends back. */
    size_t taken = size + align;
    char *start = mmap(NULL, taken, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)start & (align - 1);
    size_t after = taken - before - size;
    if (before)
        munmap(start, before);
    if (after)
        munmap(start + before + size, after);

    char *ptr = start + before;
    if (node >= 0 && node < NODE_MAX) {
        unsigned long nodes = 1ul << node;
        /* A preference only: where the kernel has no NUMA, nothing is lost. */
        syscall(SYS_mbind, ptr, size, MPOL_PREFERRED_MODE, &nodes, (unsigned long)NODE_MAX, 0);
    }
    return ptr;
}

void mem_unmap(void *ptr, size_t size)
{
    ASSERT(munmap(ptr, size) == 0);
}

void mem_forget(void *ptr, size_t size)
{
    madvise(ptr, size, MADV_DONTNEED);
}
