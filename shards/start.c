/*
 * How: all state is made first, by this thread; then one thread per shard makes its ring and
 * listens; when all have, they begin to serve together. If one fails, all end.
 */
#include "shards/start.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "core/os/limits.h"
#include "core/os/log.h"
#include "core/os/signal.h"
#include "net/listener.h"
#include "shards/admin/config_copy.h"
#include "shards/admin/config_process.h"
#include "shards/admin/home_admin.h"
#include "shards/local/evict.h"
#include "shards/local/shard.h"
#include "shards/local/version.h"
#include "shards/route/home.h"
#include "shards/route/mailbox.h"
#include "shards/route/server.h"
#include "shards/route/shard_set.h"
#include "shards/route/together.h"

struct thread {
    pthread_t id;
    struct home *home;
    struct server *server;
    pthread_barrier_t *barrier;
    sem_t *ended; /* posted when it has done serving */
    _Atomic int *failed;
    uint16_t cpu;
    bool pins;
    char error[256];
};

static const char *backend_name(enum ring_backend backend)
{
    return backend == RING_BACKEND_EPOLL ? "epoll" : "io_uring";
}

/* Since Linux 5.12 rings are charged to the cgroup; older accounting counts their queues as locked
 * memory. */
#define MEMLOCK_PER_RING (512u << 10)

/* Which backend: as asked for, else io_uring if the kernel lets us. */
static int choose_backend(struct server *server, const struct config *config)
{
    int denied = ring_probe(server->backend_reason, sizeof(server->backend_reason));
    if (config->io_backend == RING_BACKEND_EPOLL) {
        server->backend = RING_BACKEND_EPOLL;
    } else if (denied == 0) {
        server->backend = RING_BACKEND_IO_URING;
    } else if (config->io_backend == RING_BACKEND_IO_URING) {
        fprintf(stderr, "io-backend io_uring cannot be used: %s\n", server->backend_reason);
        return -1;
    } else {
        server->backend = RING_BACKEND_EPOLL;
        log_warn("io.fallback",
                 "io_uring is denied, epoll serves instead, a few percent slower: %s",
                 server->backend_reason);
    }
    return 0;
}

/* Slots in contiguous ranges, as even as can be. */
static void deal_slots(struct server *server)
{
    server->slot_map = mem_alloc(SLOT_COUNT * sizeof(*server->slot_map));
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
        server->slot_map[slot] = (uint16_t)((uint64_t)slot * server->shard_count / SLOT_COUNT);
}

static void make_run_id(char run_id[41])
{
    unsigned char random[20];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        memset(random, 0x5a, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(run_id + 2 * i, 3, "%02x", random[i]);
}

static struct server *make_server(struct config *config)
{
    struct server *server = mem_zalloc(sizeof(*server));
    cpu_plan_read("", &server->cpus);
    server->shard_count = config->shards ? config->shards : server->cpus.cpu_count;
    if (server->shard_count > SHARD_MAX)
        server->shard_count = SHARD_MAX;
    server->started_at_ms = clock_wall_ms();
    make_run_id(server->run_id);
    snprintf(server->executable, sizeof(server->executable), "%s", config->executable);
    snprintf(server->config_file, sizeof(server->config_file), "%s", config->config_file);
    deal_slots(server);
    size_t counts_bytes = server->shard_count * sizeof(*server->counts);
    server->counts = mem_alloc_aligned(counts_bytes, _Alignof(struct server_count));
    memset(server->counts, 0, counts_bytes);
    server->lanes = lanes_create(server->shard_count);
    server->shards = mem_zalloc(server->shard_count * sizeof(*server->shards));
    server->homes = mem_zalloc(server->shard_count * sizeof(*server->homes));
    return server;
}

static int node_of(const struct server *server, uint32_t id)
{
    return server->cpus.node_count > 1 ? server->cpus.node_of[id % server->cpus.cpu_count] : -1;
}

static void make_shards(struct server *server, const struct config *config)
{
    for (uint16_t id = 0; id < server->shard_count; id++)
        server->shards[id] = shard_create(id, node_of(server, id), config);
    evict_introduce(server->shards, server->shard_count);
    server->together = together_create(server, config->order_log_entries, config->lend);
    for (uint16_t id = 0; id < server->shard_count; id++) {
        struct home *home = home_create(server, id, node_of(server, id));
        server->homes[id] = home;
        home_admin_create(home);
        home->cron = home_admin_cron;
    }
}

static void *thread_main(void *context)
{
    struct thread *thread = context;
    char name[16];
    snprintf(name, sizeof(name), "sherd-%u", thread->home->id);
    cpu_name_thread(name);
    signal_prepare_thread();
    if (thread->pins && cpu_pin(thread->cpu) == 0)
        thread->home->cpu = (int16_t)thread->cpu;
    else if (thread->pins)
        log_warn("cpu.not_pinned", "thread=%u cpu=%u", thread->home->id, thread->cpu);
    if (thread->home->node >= 0)
        cpu_prefer_node(thread->home->node);
    if (home_open(thread->home, thread->error, sizeof(thread->error)) < 0)
        atomic_store(thread->failed, 1);
    pthread_barrier_wait(thread->barrier); /* all rings are there, or one has failed */
    pthread_barrier_wait(thread->barrier); /* nobody reads the first settings any more */
    if (!atomic_load(thread->failed))
        home_run(thread->home);
    sem_post(thread->ended);
    pthread_barrier_wait(thread->barrier); /* nobody wakes a ring that is gone */
    home_close(thread->home);
    return NULL;
}

/* A thread of a fractional CPU is stopped by the kernel for the rest of each period. */
static void warn_of_quota(const struct server *server)
{
    double quota = server->cpus.quota;
    if (quota > 0 && quota < server->shard_count)
        log_warn("cpu.quota",
                 "quota=%.2f shards=%u: the kernel will throttle; give whole CPUs or fewer shards",
                 quota, server->shard_count);
}

static void log_block(const struct server *server, const struct config *config, uint64_t files)
{
    char memory[32] = "none";
    if (config->maxmemory)
        snprintf(memory, sizeof(memory), "%llu", (unsigned long long)config->maxmemory);
    log_info("server.start", "version=%s redis_version=%s pid=%d port=%u", SHERD_VERSION,
             REDIS_VERSION, (int)getpid(), config->port);
    log_info("server.shards", "shards=%u cpus=%u quota=%.2f numa_nodes=%u io=%s",
             server->shard_count, server->cpus.cpu_count, server->cpus.quota,
             server->cpus.node_count, backend_name(server->backend));
    log_info("server.limits", "maxmemory=%s memory_bytes=%llu files=%llu maxclients=%u", memory,
             (unsigned long long)limits_memory_bytes(""), (unsigned long long)files,
             config->maxclients);
}

/* As many clients as there are descriptors for. */
static uint64_t raise_limits(const struct server *server, struct config *config)
{
    uint64_t reserved = CONFIG_FILES_RESERVED + CONFIG_FILES_PER_SHARD * server->shard_count;
    uint64_t files = limits_raise_files(config->maxclients + reserved);
    if (files < config->maxclients + reserved)
        config->maxclients = files > reserved ? (uint32_t)(files - reserved) : 1;
    limits_raise_memlock((uint64_t)server->shard_count * MEMLOCK_PER_RING);
    uint32_t somaxconn = limits_somaxconn();
    if (somaxconn && config->tcp_backlog > somaxconn)
        log_warn("limits.somaxconn",
                 "tcp-backlog=%u net.core.somaxconn=%u: set the sysctl higher to have the backlog",
                 config->tcp_backlog, somaxconn);
    return files;
}

static int check_addresses(const struct config *config, char *error, size_t error_cap)
{
    struct listener_options options = {.bind = config->bind,
                                       .bind_count = config->bind_count,
                                       .port = config->port,
                                       .backlog = config->tcp_backlog};
    return listener_check(&options, LISTENER_WAIT_MS, error, error_cap);
}

static int run_threads(struct server *server, const struct config *config)
{
    struct thread *threads = mem_zalloc(server->shard_count * sizeof(*threads));
    pthread_barrier_t barrier;
    sem_t ended;
    _Atomic int failed = 0;
    sem_init(&ended, 0, 0);
    pthread_barrier_init(&barrier, NULL, server->shard_count + 1);
    bool pins = server->shard_count <= server->cpus.cpu_count;
    for (uint32_t id = 0; id < server->shard_count; id++) {
        threads[id] = (struct thread){.home = server->homes[id],
                                      .server = server,
                                      .barrier = &barrier,
                                      .ended = &ended,
                                      .failed = &failed,
                                      .cpu = server->cpus.cpus[id % server->cpus.cpu_count],
                                      .pins = pins};
        int result = pthread_create(&threads[id].id, NULL, thread_main, &threads[id]);
        if (result != 0) {
            fprintf(stderr, "cannot start thread %u: %s\n", id, strerror(result));
            exit(1);
        }
    }
    pthread_barrier_wait(&barrier);
    if (!atomic_load(&failed)) {
        config_process_warn_of_memory(config);
        log_info("server.ready", "Ready to accept connections");
        config_process_ready(config);
    }
    pthread_barrier_wait(&barrier); /* from here on CONFIG SET may replace and free `config` */
    /* Not in the barrier: a signal that comes while this thread waits for a semaphore is handled at
     * once under the thread sanitizer too. */
    for (uint32_t id = 0; id < server->shard_count; id++)
        while (sem_wait(&ended) < 0)
            continue; /* interrupted */
    pthread_barrier_wait(&barrier);
    for (uint32_t id = 0; id < server->shard_count; id++) {
        pthread_join(threads[id].id, NULL);
        if (threads[id].error[0])
            log_error("server.failed", "%s", threads[id].error);
    }
    pthread_barrier_destroy(&barrier);
    sem_destroy(&ended);
    mem_free(threads);
    return atomic_load(&failed) ? 1 : 0;
}

/* Also a server that has no shards yet. */
static void destroy_server(struct server *server)
{
    for (uint32_t id = 0; id < server->shard_count; id++) {
        if (server->homes[id])
            home_admin_destroy(server->homes[id]);
        home_destroy(server->homes[id]);
    }
    for (uint32_t id = 0; id < server->shard_count; id++)
        shard_destroy(server->shards[id]);
    together_destroy(server->together);
    lanes_destroy(server->lanes);
    mem_free(server->homes);
    mem_free(server->shards);
    mem_free(server->counts);
    mem_free(server->slot_map);
    mem_free(server);
}

static void on_signal(void *context, int signal_number)
{
    server_stop(context, signal_number);
}

/* The settings at the end: not those at the start after a CONFIG SET. */
static const struct config *last_config(const struct server *server, const struct config *first)
{
    return server->shards[0] ? server->shards[0]->config : first;
}

static int serve(struct server *server, struct config *config)
{
    char error[256];
    if (choose_backend(server, config) < 0)
        return 1;
    uint64_t files = raise_limits(server, config);
    if (check_addresses(config, error, sizeof(error)) < 0) {
        log_error("listen.failed", "%s", error);
        return 1;
    }
    make_shards(server, config);
    if (signal_install(on_signal, server) < 0)
        log_warn("signal.not_installed", "SIGTERM will not be clean");
    log_block(server, config, files);
    warn_of_quota(server);
    int status = run_threads(server, config);
    log_info("server.stop", "reason=%d bye", atomic_load(&server->stop_reason));
    return status;
}

int start_and_serve(struct config *config)
{
    key_seed(config->hash_seed);
    if (config_process_begin(config, stderr) < 0) {
        config_free(config);
        return 1;
    }
    struct server *server = make_server(config);
    int status = serve(server, config);
    const struct config *last = last_config(server, config);
    config_process_end(last);
    destroy_server(server);
    config_free((struct config *)(uintptr_t)last);
    return status;
}
