#include "core/store/access.h"

#define LRU_MAX 0xffffffu
#define MINUTE_MAX 0xffffu

static uint32_t minute_now(int64_t now_ms)
{
    return (uint32_t)(now_ms / 60000) & MINUTE_MAX;
}

uint32_t access_idle_s(uint32_t access, int64_t now_ms)
{
    uint32_t now = access_lru_now(now_ms);
    return now >= access ? now - access : now + (LRU_MAX - access);
}

uint32_t access_lru_idle_since(uint32_t idle_s, int64_t now_ms)
{
    uint32_t now = access_lru_now(now_ms);
    idle_s = idle_s > LRU_MAX ? LRU_MAX : idle_s;
    return now >= idle_s ? now - idle_s : LRU_MAX - (idle_s - now);
}

uint8_t access_lfu_counter(uint32_t access, int64_t now_ms, struct access_lfu_options options)
{
    uint32_t counter = access & 0xff;
    if (options.decay_minutes == 0)
        return (uint8_t)counter;
    uint32_t then = access >> 8, now = minute_now(now_ms);
    uint32_t minutes = now >= then ? now - then : MINUTE_MAX - then + now;
    uint32_t steps = minutes / options.decay_minutes;
    return (uint8_t)(steps < counter ? counter - steps : 0);
}

uint32_t access_lfu_with(uint8_t counter, int64_t now_ms)
{
    return minute_now(now_ms) << 8 | counter;
}

uint32_t access_lfu_used(uint32_t access, int64_t now_ms, struct access_lfu_options options,
                         struct rng *rng)
{
    uint8_t counter = access_lfu_counter(access, now_ms, options);
    if (counter < 255) {
        uint32_t above = counter > ACCESS_LFU_INITIAL ? counter - ACCESS_LFU_INITIAL : 0;
        if (rng_double(rng) * ((double)above * options.log_factor + 1) < 1)
            counter++;
    }
    return access_lfu_with(counter, now_ms);
}
