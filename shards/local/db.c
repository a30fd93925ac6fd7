/*
 * Each function finds the key's cell once and works on that. Whether the key's time has come is
 * asked right there (lookup()), so that no caller ever sees a dead record.
 *
 * A string is overwritten where it is whenever the new record fits the same size class, so that the
 * usual SET allocates nothing and leaves the table alone. Text given to a changing function may be
 * borrowed from the very value that is changed; it is moved before what it overlaps.
 */
#include "shards/local/db.h"

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/base/num.h"
#include "core/os/clock.h"
#include "core/store/access.h"
#include "core/type/str.h"
#include "shards/local/db_data.h"
#include "shards/local/lazyfree.h"

#define WALK_DEAD_MAX                                                                              \
    64u /* expired keys that one step of a scan deletes; the sweep sees to the rest */
#define RANDOM_TRIES 100u /* while dead keys must stay, db_random() then answers with one */
#define GROW_STEP_MIN ((size_t)1 << 20)

/* ---- Small matters ---- */

uint16_t db_index(const struct db *db)
{
    return db->index;
}

struct shard *db_shard(const struct db *db)
{
    return db->shard;
}

uint64_t db_size(const struct db *db)
{
    return db->keyspace->count;
}

uint64_t db_expires(const struct db *db)
{
    return db->keyspace->ttl_count;
}

uint64_t db_subexpires(const struct db *db)
{
    return agenda_count(&db->keyspace->agenda);
}

int64_t db_avg_ttl_ms(const struct db *db)
{
    return db->avg_ttl_ms;
}

struct db *db_create(struct shard *shard, uint16_t index)
{
    struct db *db = mem_zalloc(sizeof *db);
    db->shard = shard;
    db->index = index;
    db->keyspace = keyspace_create(shard->heap);
    return db;
}

void db_destroy(struct db *db)
{
    if (!db)
        return;
    lazyfree_now(db->shard, db->keyspace);
    mem_free(db);
}

void db_observe(struct shard *shard, struct db_observer *observer)
{
    observer->next = shard->observers;
    shard->observers = observer;
}

void db_unobserve(struct shard *shard, struct db_observer *observer)
{
    struct db_observer **link = &shard->observers;
    while (*link != observer) {
        ASSERT(*link); /* it was registered */
        link = &(*link)->next;
    }
    *link = observer->next;
}

static void tell(struct db *db, const struct bytes *name, bool is_aside)
{
    struct db_observer *next;
    for (struct db_observer *each = db->shard->observers; each; each = next) {
        next = each->next; /* it may take itself off */
        if (!is_aside || !each->values_only)
            each->observe(each->context, db, name);
    }
}

static void tell_observers(struct db *db, const struct bytes *name)
{
    tell(db, name, false);
}

static void tell_exchanged(struct db *db)
{
    for (struct db_observer *each = db->shard->observers; each; each = each->next)
        if (each->exchanged)
            each->exchanged(each->context, db);
}

static inline void before_change(struct db *db, const struct key *key)
{
    if (unlikely(db->shard->observers != NULL))
        tell_observers(db, &key->name);
}

void db_announce(struct db *db, const struct key *key)
{
    before_change(db, key);
}

/* ---- Access ---- */

static bool counts_uses(const struct config *config)
{
    return config->maxmemory_policy == MAXMEMORY_ALLKEYS_LFU ||
           config->maxmemory_policy == MAXMEMORY_VOLATILE_LFU;
}

static struct access_lfu_options lfu_options(const struct config *config)
{
    return (struct access_lfu_options){config->lfu_log_factor, config->lfu_decay_time};
}

static uint32_t first_access(const struct shard *shard)
{
    return counts_uses(shard->config) ? access_lfu_with(ACCESS_LFU_INITIAL, shard->now_ms)
                                      : access_lru_now(shard->now_ms);
}

static inline void touch(struct shard *shard, struct value *record)
{
    if (unlikely(shard->no_touch))
        return;
    uint32_t old = record_access(record);
    uint32_t now = unlikely(counts_uses(shard->config))
                       ? access_lfu_used(old, shard->now_ms, lfu_options(shard->config),
                                         &shard->rng)
                       : access_lru_now(shard->now_ms);
    /* Most keys are read again within the second: then the line stays clean. */
    if (now != old)
        record_set_access(record, now);
}

uint32_t db_idle_s(const struct db *db, const struct value *value)
{
    return access_idle_s(record_access(value), db->shard->now_ms);
}

uint8_t db_frequency(const struct db *db, const struct value *value)
{
    return access_lfu_counter(record_access(value), db->shard->now_ms,
                              lfu_options(db->shard->config));
}

/* ---- Finding ---- */

/* Frees a record that has left its table, in slices if that takes long. */
static void discard(struct db *db, struct value *record)
{
    if (!record_try_destroy(record, record_heap(record)))
        lazyfree_add_record(db->shard->lazyfree, record);
}

static void remove_at(struct db *db, const struct key *key, uint64_t *cell)
{
    before_change(db, key);
    discard(db, keyspace_remove(db->keyspace, db->shard->heap, key, cell));
}

void db_remove_record(struct db *db, struct value *record)
{
    struct key key = key_make(record_name(record));
    uint64_t *cell = keyspace_find(db->keyspace, &key);
    ASSERT(cell && table_item(*cell) == record);
    remove_at(db, &key, cell);
}

static void remove_expired_at(struct db *db, const struct key *key, uint64_t *cell)
{
    struct shard *shard = db->shard;
    uint64_t from = clock_ticks();
    shard->stats.expired_keys++;
    remove_at(db, key, cell);
    slow_note(&shard->slow, SLOW_EXPIRE_DEL, clock_ticks_to_ns(clock_ticks() - from));
}

/* The cell of a key that lives; deletes one whose time has come. */
static inline uint64_t *lookup(struct db *db, const struct key *key)
{
    uint64_t *cell = keyspace_find(db->keyspace, key);
    if (!cell)
        return NULL;
    if (unlikely(*cell & TABLE_MARK) && record_is_expired(table_item(*cell), db->shard->now_ms)) {
        remove_expired_at(db, key, cell);
        return NULL;
    }
    return cell;
}

/* The same for those who only read: while expiry is paused they pass over what has expired. */
static inline uint64_t *lookup_to_read(struct db *db, const struct key *key)
{
    if (likely(db->shard->keeps_expired_until_ms <= db->shard->now_ms))
        return lookup(db, key);
    uint64_t *cell = keyspace_find(db->keyspace, key);
    if (cell && *cell & TABLE_MARK && record_is_expired(table_item(*cell), db->shard->now_ms))
        return NULL;
    return cell;
}

const struct value *db_peek(struct db *db, const struct key *key)
{
    uint64_t *cell = lookup_to_read(db, key);
    return cell ? table_item(*cell) : NULL;
}

const struct value *db_examine(struct db *db, const struct key *key)
{
    const struct value *record = db_peek(db, key);
    if (record)
        db->shard->stats.keyspace_hits++;
    else
        db->shard->stats.keyspace_misses++;
    return record;
}

const struct value *db_lookup(struct db *db, const struct key *key)
{
    uint64_t *cell = lookup_to_read(db, key);
    if (!cell) {
        db->shard->stats.keyspace_misses++;
        return NULL;
    }
    struct value *record = table_item(*cell);
    db->shard->stats.keyspace_hits++;
    touch(db->shard, record);
    return record;
}

const struct value *db_lookup_to_write(struct db *db, const struct key *key)
{
    uint64_t *cell = lookup(db, key);
    if (!cell)
        return NULL;
    struct value *record = table_item(*cell);
    touch(db->shard, record);
    return record;
}

static enum status of_type(const struct value *record, enum type type,
                           const struct value **out_value)
{
    if (record && record_type(record) != type)
        return ERR_WRONG_TYPE;
    *out_value = record;
    return OK;
}

enum status db_find(struct db *db, const struct key *key, enum type type,
                    const struct value **out_value)
{
    return of_type(db_lookup(db, key), type, out_value);
}

enum status db_find_to_write(struct db *db, const struct key *key, enum type type,
                             const struct value **out_value)
{
    return of_type(db_lookup_to_write(db, key), type, out_value);
}

static_assert(DB_PREFETCH_STEPS == KEYSPACE_PREFETCH_STEPS, "a step here is a step there");

void db_prefetch(struct db *db, const struct key *key, int step)
{
    keyspace_prefetch(db->keyspace, key, step);
}

const struct value *db_random(struct db *db)
{
    struct shard *shard = db->shard;
    bool keeps_expired = shard->keeps_expired_until_ms > shard->now_ms;
    for (uint32_t tries = 1;; tries++) {
        uint64_t *cell = keyspace_random(db->keyspace, &shard->rng);
        if (!cell)
            return NULL;
        struct value *record = table_item(*cell);
        if (!record_is_expired(record, shard->now_ms))
            return record;
        if (keeps_expired && tries < RANDOM_TRIES)
            continue;
        if (keeps_expired)
            return record;
        shard->stats.expired_keys++;
        db_remove_record(db, record);
    }
}

void db_set_idle_s(struct db *db, const struct key *key, uint32_t idle_s)
{
    uint64_t *cell = lookup(db, key);
    if (cell)
        record_set_access(table_item(*cell), access_lru_idle_since(idle_s, db->shard->now_ms));
}

void db_set_frequency(struct db *db, const struct key *key, uint8_t frequency)
{
    uint64_t *cell = lookup(db, key);
    if (cell)
        record_set_access(table_item(*cell), access_lfu_with(frequency, db->shard->now_ms));
}

/* ---- Walking ---- */

struct walk {
    db_visit_fn visit;
    void *context;
    int64_t now_ms;
    uint32_t dead_count;
    struct value *dead[WALK_DEAD_MAX]; /* expired ones that were met, for db_scan() to delete */
};

static void walk_cell(void *context, uint64_t *cell)
{
    struct walk *walk = context;
    struct value *record = table_item(*cell);
    if (!(*cell & TABLE_MARK) || !record_is_expired(record, walk->now_ms))
        walk->visit(walk->context, record);
    else if (walk->dead_count < WALK_DEAD_MAX)
        walk->dead[walk->dead_count++] = record;
}

uint64_t db_scan(struct db *db, uint64_t cursor, uint64_t count, db_visit_fn visit, void *context)
{
    struct shard *shard = db->shard;
    struct walk walk = {.visit = visit, .context = context, .now_ms = shard->now_ms};
    uint64_t next = keyspace_scan(db->keyspace, cursor, count, walk_cell, &walk);
    if (shard->keeps_expired_until_ms > shard->now_ms)
        return next;
    for (uint32_t i = 0; i < walk.dead_count; i++) {
        shard->stats.expired_keys++;
        db_remove_record(db, walk.dead[i]);
    }
    return next;
}

void db_each(struct db *db, db_visit_fn visit, void *context)
{
    struct walk walk = {.visit = visit, .context = context, .now_ms = db->shard->now_ms};
    keyspace_each(db->keyspace, walk_cell, &walk);
}

/* ---- Strings ---- */

/* What is to be written: an integer, or bytes that are embedded or get a block. */
struct content {
    enum encoding encoding;
    struct bytes text;
    int64_t number;
};

static size_t content_bytes(const struct content *content)
{
    return content->encoding == ENCODING_EMBED ? content->text.len : sizeof(int64_t);
}

static void write_content(struct value *record, struct heap *heap, const struct content *content)
{
    if (content->encoding == ENCODING_INT) {
        memcpy(record_value(record), &content->number, sizeof content->number);
    } else if (content->encoding == ENCODING_EMBED) {
        if (content->text.len)
            memmove(record_value(record), content->text.ptr, content->text.len);
    } else {
        struct str_block *block = str_block_create(heap, content->text.len);
        if (!block)
            mem_exhausted(content->text.len);
        block->len = content->text.len;
        memcpy(block->bytes, content->text.ptr, content->text.len);
        record_set_pointer(record, block);
    }
}

static struct value *create_string(struct heap *heap, struct bytes name, int64_t expire_at_ms,
                                   const struct content *content)
{
    struct value *record = record_create(heap, name, expire_at_ms, TYPE_STRING, content->encoding,
                                         content_bytes(content));
    write_content(record, heap, content);
    return record;
}

/* Overwrites a record whose block is right for the new content and `ttl_bytes`. */
static void overwrite_string(struct value *record, struct heap *heap, struct bytes name,
                             int64_t expire_at_ms, const struct content *content)
{
    struct str_block *old_block = record_encoding(record) == ENCODING_BLOCK ? record_pointer(record)
                                                                            : NULL;
    if (content->encoding == ENCODING_BLOCK && old_block &&
        old_block->cap + sizeof *old_block == heap_usable(sizeof *old_block + content->text.len)) {
        memmove(old_block->bytes, content->text.ptr, content->text.len);
        old_block->len = content->text.len;
        record_init(record, heap, name, expire_at_ms, TYPE_STRING, ENCODING_BLOCK, 8);
        record_set_pointer(record, old_block);
        return;
    }
    size_t bytes = content_bytes(content);
    size_t ttl_bytes = record_ttl_bytes_for(expire_at_ms);
    char copy[STR_EMBED_MAX];
    struct content moved = *content;
    if (content->encoding == ENCODING_EMBED && ttl_bytes > record_ttl_bytes(record)) {
        /* The name is about to move up, perhaps over the text, if that is this record's own. */
        memcpy(copy, content->text.ptr, bytes);
        moved.text.ptr = copy;
    }
    record_init(record, heap, name, expire_at_ms, TYPE_STRING, content->encoding, bytes);
    write_content(record, heap, &moved);
    if (old_block)
        str_block_destroy(old_block, heap);
}

static void put_content(struct db *db, const struct key *key, const struct content *content,
                        int64_t expire_at_ms)
{
    struct shard *shard = db->shard;
    struct heap *heap = shard->heap;
    uint64_t *cell = lookup(db, key);
    before_change(db, key);
    if (!cell) {
        if (expire_at_ms == DB_KEEP_TTL)
            expire_at_ms = DB_NO_EXPIRE;
        struct value *record = create_string(heap, key->name, expire_at_ms, content);
        record_set_access(record, first_access(shard));
        keyspace_insert(db->keyspace, heap, key, record);
        return;
    }

    struct value *old = table_item(*cell);
    if (expire_at_ms == DB_KEEP_TTL)
        expire_at_ms = value_expire_at_ms(old);
    touch(shard, old);
    size_t bytes = record_bytes_for(key->name.len, expire_at_ms, content_bytes(content));
    if (record_type(old) == TYPE_STRING && heap_usable(bytes) == heap_usable(record_bytes(old))) {
        overwrite_string(old, heap, key->name, expire_at_ms, content);
        keyspace_ttl_changed(db->keyspace, cell);
        return;
    }
    struct value *record = create_string(heap, key->name, expire_at_ms, content);
    record_set_access(record, record_access(old));
    keyspace_unschedule(db->keyspace, heap, old);
    keyspace_replace(db->keyspace, cell, record);
    discard(db, old);
}

void db_put_string(struct db *db, const struct key *key, struct bytes text, int64_t expire_at_ms)
{
    struct content content = {.encoding = ENCODING_EMBED, .text = text};
    if (text.len <= NUM_INT_CAP && num_to_int(text, &content.number))
        content.encoding = ENCODING_INT;
    else if (text.len > STR_EMBED_MAX)
        content.encoding = ENCODING_BLOCK;
    put_content(db, key, &content, expire_at_ms);
}

void db_put_int(struct db *db, const struct key *key, int64_t value, int64_t expire_at_ms)
{
    struct content content = {.encoding = ENCODING_INT, .number = value};
    put_content(db, key, &content, expire_at_ms);
}

/* Makes the block at least `len` bytes large, with room to grow on; NULL when memory is short. */
static struct str_block *grow_block(struct str_block *block, struct heap *heap, size_t len)
{
    if (len <= block->cap)
        return block;
    size_t extra = len < GROW_STEP_MIN ? len : len / 8 < GROW_STEP_MIN ? GROW_STEP_MIN : len / 8;
    struct str_block *grown = str_block_create(heap, len + extra);
    if (!grown && !(grown = str_block_create(heap, len)))
        return NULL;
    grown->len = block->len;
    memcpy(grown->bytes, block->bytes, block->len);
    str_block_destroy(block, heap);
    return grown;
}

/* The string in `record` as a block of `len` bytes in a record of its own. */
static struct value *to_block(struct value *record, struct heap *heap, size_t len)
{
    char scratch[STR_SCRATCH];
    struct bytes text = str_view(record, scratch);
    struct str_block *block = str_block_create(heap, len);
    if (!block)
        return NULL;
    block->len = text.len < len ? text.len : len;
    memcpy(block->bytes, text.ptr, block->len);
    struct value *made = record_create(heap, record_name(record), value_expire_at_ms(record),
                                       TYPE_STRING, ENCODING_BLOCK, sizeof block);
    record_set_pointer(made, block);
    return made;
}

/* The string in `record`, which is no block, with `len` embedded bytes. */
static struct value *to_embedded(struct value *record, struct heap *heap, size_t len)
{
    char scratch[STR_SCRATCH];
    struct bytes text = str_view(record, scratch);
    size_t kept = text.len < len ? text.len : len;
    struct value *made = record_create(heap, record_name(record), value_expire_at_ms(record),
                                       TYPE_STRING, ENCODING_EMBED, len);
    if (kept)
        memcpy(record_value(made), text.ptr, kept);
    memset(record_value(made) + kept, 0, len - kept);
    return made;
}

static char *resize_embedded(struct db *db, uint64_t *cell, size_t len)
{
    struct heap *heap = db->shard->heap;
    struct value *record = table_item(*cell);
    size_t old_bytes = record_bytes(record);
    size_t new_bytes = old_bytes - record_value_bytes(record) + len;
    if (record_encoding(record) == ENCODING_EMBED &&
        heap_usable(new_bytes) == heap_usable(old_bytes)) {
        if (len > record->value_len)
            memset(record_value(record) + record->value_len, 0, len - record->value_len);
        record->value_len = (uint16_t)len;
        record->flags |= RECORD_GROWN;
        return record_value(record);
    }
    struct value *made = to_embedded(record, heap, len);
    record_set_access(made, record_access(record));
    made->flags |= RECORD_GROWN;
    keyspace_replace(db->keyspace, cell, made);
    heap_free(heap, record, old_bytes);
    return record_value(made);
}

static char *resize_block(struct db *db, uint64_t *cell, size_t len)
{
    struct heap *heap = db->shard->heap;
    struct value *record = table_item(*cell);
    if (record_encoding(record) != ENCODING_BLOCK) {
        struct value *made = to_block(record, heap, len);
        if (!made)
            return NULL;
        record_set_access(made, record_access(record));
        keyspace_replace(db->keyspace, cell, made);
        heap_free(heap, record, record_bytes(record));
        record = made;
    }
    struct str_block *block = grow_block(record_pointer(record), heap, len);
    if (!block)
        return NULL;
    record_set_pointer(record, block);
    record->flags |= RECORD_GROWN;
    if (len > block->len)
        memset(block->bytes + block->len, 0, len - block->len);
    block->len = len;
    return block->bytes;
}

char *db_resize_string(struct db *db, const struct key *key, size_t len)
{
    struct shard *shard = db->shard;
    uint64_t *cell = lookup(db, key);
    before_change(db, key);
    bool is_new = cell == NULL;
    if (is_new) {
        struct content empty = {.encoding = ENCODING_EMBED};
        struct value *record = create_string(shard->heap, key->name, DB_NO_EXPIRE, &empty);
        record_set_access(record, first_access(shard));
        keyspace_insert(db->keyspace, shard->heap, key, record);
        cell = keyspace_find(db->keyspace, key);
    }
    struct value *record = table_item(*cell);
    ASSERT(record_type(record) == TYPE_STRING);
    if (!is_new)
        touch(shard, record);
    bool embed = len <= STR_EMBED_MAX && record_encoding(record) != ENCODING_BLOCK;
    char *bytes = embed ? resize_embedded(db, cell, len) : resize_block(db, cell, len);
    if (!bytes && is_new)
        discard(db, keyspace_remove(db->keyspace, shard->heap, key, cell));
    return bytes;
}

/* ---- Changing ---- */

struct value *db_edit(struct db *db, const struct key *key)
{
    uint64_t *cell = lookup(db, key);
    ASSERT(cell);
    before_change(db, key);
    touch(db->shard, table_item(*cell));
    return table_item(*cell);
}

struct value *db_edit_aside(struct db *db, const struct key *key)
{
    uint64_t *cell = lookup(db, key);
    ASSERT(cell);
    tell(db, &key->name, true);
    touch(db->shard, table_item(*cell));
    return table_item(*cell);
}

bool db_delete(struct db *db, const struct key *key)
{
    uint64_t *cell = lookup(db, key);
    if (!cell)
        return false;
    remove_at(db, key, cell);
    return true;
}

void db_set_expire(struct db *db, const struct key *key, int64_t at_ms)
{
    uint64_t *cell = lookup(db, key);
    ASSERT(cell);
    before_change(db, key);
    struct value *record = record_set_ttl(table_item(*cell), db->shard->heap, at_ms);
    keyspace_replace(db->keyspace, cell, record);
}

struct value *db_take(struct db *db, const struct key *key)
{
    uint64_t *cell = lookup(db, key);
    if (!cell)
        return NULL;
    before_change(db, key);
    return keyspace_remove(db->keyspace, db->shard->heap, key, cell);
}

void db_drop_value(struct db *db, struct value *value)
{
    discard(db, value);
}

static void put_record(struct db *db, const struct key *key, struct value *record)
{
    uint64_t *cell = lookup(db, key);
    before_change(db, key);
    if (cell) {
        struct value *old = table_item(*cell);
        keyspace_unschedule(db->keyspace, db->shard->heap, old);
        keyspace_replace(db->keyspace, cell, record);
        keyspace_schedule(db->keyspace, db->shard->heap, key, record);
        discard(db, old);
    } else {
        keyspace_insert(db->keyspace, db->shard->heap, key, record);
    }
}

void db_put(struct db *db, const struct key *key, struct value *value)
{
    put_record(db, key, record_rename(value, key->name, db->shard->heap));
}

struct heap *db_heap(const struct db *db)
{
    return db->shard->heap;
}

struct value *db_put_root(struct db *db, const struct key *key, enum type type, void *root,
                          int64_t expire_at_ms)
{
    struct value *record = record_create(db->shard->heap, key->name, expire_at_ms, type,
                                         ENCODING_ROOT, sizeof(root));
    record_set_access(record, first_access(db->shard));
    record_set_pointer(record, root);
    put_record(db, key, record);
    return record;
}

void db_drop_root(struct db *db, enum type type, void *root)
{
    struct value *record = record_create(db->shard->heap, (struct bytes){0}, DB_NO_EXPIRE, type,
                                         ENCODING_ROOT, sizeof(root));
    record_set_pointer(record, root);
    discard(db, record);
}

void db_put_copy(struct db *db, const struct key *key, const struct value *value)
{
    put_record(db, key, record_copy(value, key->name, db->shard->heap));
}

void db_flush(struct db *db, bool at_once)
{
    struct shard *shard = db->shard;
    if (db->keyspace->count == 0)
        return;
    tell_observers(db, NULL);
    struct keyspace *old = db->keyspace;
    db->keyspace = keyspace_create(shard->heap);
    db->avg_ttl_ms = 0;
    if (at_once)
        lazyfree_now(shard, old);
    else
        lazyfree_add(shard->lazyfree, old);
}

void db_swap(struct db *a, struct db *b)
{
    ASSERT(a->shard == b->shard);
    if (a == b)
        return;
    tell_observers(a, NULL);
    tell_observers(b, NULL);
    struct db old = *a;
    a->keyspace = b->keyspace;
    a->avg_ttl_ms = b->avg_ttl_ms;
    b->keyspace = old.keyspace;
    b->avg_ttl_ms = old.avg_ttl_ms;
    tell_exchanged(a);
    tell_exchanged(b);
}

/* ---- Looking at the tables ---- */

struct db_table_stats db_table_stats(const struct db *db)
{
    struct table_stats tables = {0};
    keyspace_add_stats(db->keyspace, &tables);
    struct db_table_stats stats = {.keys = tables.items,
                                   .tables = tables.leaves,
                                   .buckets = tables.buckets,
                                   .overflows = tables.overflows,
                                   .bytes = tables.bytes};
    static_assert(sizeof stats.bucket_lens == sizeof tables.bucket_lens, "the same histogram");
    memcpy(stats.bucket_lens, tables.bucket_lens, sizeof stats.bucket_lens);
    return stats;
}

size_t db_table_bytes(const struct db *db)
{
    return db->keyspace->table_bytes;
}

uint32_t db_slot_size(const struct db *db, uint16_t slot)
{
    return keyspace_slot_count(db->keyspace, slot);
}
