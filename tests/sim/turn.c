/*
 * How: a turn takes what has arrived, catches up with the log, then runs what it took: requests of
 * others before groups of its own connections, in chunks with a look at the log between them. A
 * connection has one group outstanding. Groups on one shard run there; those that mix shards become
 * one entry a turn, the super-batch; stateful operations get an entry each.
 */
#include "tests/sim/model.h"

#include <string.h>

#include "core/base/check.h"

/* ---- what comes home ------------------------------------------------------------------------ */

static void group_part_done(struct group *group, uint32_t shards)
{
    group->left_mask &= ~shards;
    struct conn *conn = group->conn;
    if (group->left_mask)
        return;
    struct group *pieces = model.threads[conn->thread].groups[conn - world.conns];
    for (uint32_t i = 0; i < GROUP_OPS_MAX; i++)
        if (pieces[i].left_mask)
            return;
    conn_reply(conn, conn->taken);
}

static void tx_part_done(struct tx_ref entry, uint32_t shards)
{
    struct tx *tx = touch(entry);
    tx->left_mask &= ~shards;
    for (uint32_t i = 0; i < tx->op_count; i++) {
        struct op *op = tx->ops[i];
        if (op->conn == NOBODY) {
            if (tx->left_mask == 0) {
                op->answered_at = now();
                world.follow_ups_done++;
            }
            continue;
        }
        struct group *group = &model.threads[tx->home].groups[op->conn][0];
        if (op->index == group->first && group->left_mask & shards)
            group_part_done(group, shards);
    }
}

/* Parts of an entry have been run by `me` while owning shard `via`: tell home. */
static void report(struct thread *me, uint32_t via, struct tx_ref entry, uint32_t shards)
{
    uint32_t home = touch(entry)->home;
    if (home == me->id) {
        tx_part_done(entry, shards);
        return;
    }
    if (!model.borrowed_lanes || via == home)
        via = me->id;
    push(via, home, (struct message){.kind = MESSAGE_REPORT, .entry = entry, .shards = shards});
}

/* ---- running -------------------------------------------------------------------------------- */

/* A single operation on a shard that `me` owns; timers and follow-ups it asks for are noted. */
static void run_op(struct thread *me, struct op *op, uint32_t s)
{
    op_run(op, s);
    if (op->needs_timer) {
        op->needs_timer = false;
        model.shards[s].timers[model.shards[s].timer_count++] = op;
    }
    struct op *follow_up = op_take_follow_up(op);
    if (follow_up) /* never published from inside a part */
        me->follow_ups[me->follow_up_count++] = follow_up;
}

/* A group whose keys are all on `s`; its place in the order is that of the check. */
void run_group(struct thread *me, struct group *group, uint32_t s, uint64_t checked_at)
{
    for (uint32_t i = 0; i < group->count; i++) {
        struct op *op = &group->conn->ops[group->first + i];
        op->place = (struct place){checked_at, ++model.run_number};
        run_op(me, op, s);
    }
}

void run_part(struct thread *me, uint32_t s, struct tx_ref entry)
{
    struct tx *tx = touch(entry);
    for (uint32_t i = 0; i < tx->op_count; i++)
        if (touch(entry)->ops[i]->mask & bit(s))
            run_op(me, tx->ops[i], s);
    if (touch(entry)->kind != TX_ANNOUNCE)
        report(me, s, entry, bit(s));
}

void run_together(struct thread *me, uint32_t via, struct tx_ref entry)
{
    model_counts.together_runs++;
    op_run(touch(entry)->ops[0], NOBODY);
    struct tx *tx = touch(entry);
    tx->is_done = true;
    report(me, via, entry, tx->mask);
}

/* ---- one turn ------------------------------------------------------------------------------- */

static void publish_follow_ups(struct thread *me)
{
    while (me->follow_up_count > 0) {
        struct tx *tx = tx_take(me, TX_SCATTER);
        if (!tx)
            return;
        tx_add(tx, me->follow_ups[0]);
        if (!publish(me, tx, true))
            return;
        me->follow_up_count--;
        memmove(me->follow_ups, me->follow_ups + 1,
                me->follow_up_count * sizeof(me->follow_ups[0]));
    }
}

/* Takes what has arrived: requests to be run, replies and reports at once. */
static void take_arrivals(struct thread *me)
{
    for (uint32_t from = 0; from < world.shard_count; from++) {
        struct lane *lane = &model.shards[from].out[me->id];
        uint32_t tail = LOAD(lane->tail), old_head = lane->head, taken = 0;
        while (taken < model.lane_budget && old_head + taken != tail) {
            struct message message = lane->messages[(old_head + taken++) % model.lane_cap];
            if (message.kind == MESSAGE_REQUEST)
                me->requests[me->request_count++] = message;
            else if (message.kind == MESSAGE_REPLY)
                group_part_done(message.group, message.group->left_mask);
            else
                tx_part_done(message.entry, message.shards);
        }
        if (taken == 0)
            continue;
        STORE(lane->head, old_head + taken);
        if (!weak(WEAK_RECEIVER_TELLS_BY_OLD_TAIL))
            tail = LOAD(lane->tail); /* again: it may have been full only just now */
        if (tail - old_head >= model.lane_cap && !weak(WEAK_RECEIVER_TELLS_NOBODY))
            poke(from); /* its overflow can move */
    }
}

static void run_timers(struct thread *me)
{
    struct shard *own = &model.shards[me->id];
    if (me->woken_by != WAKE_TIMER)
        return;
    world_touch(me->id, me->id);
    trace("runs %u timers", own->timer_count);
    world.timers_pending -= own->timer_count;
    own->timer_count = 0;
    me->woken_by = WAKE_TOKEN;
}

/* The own groups and requests, in chunks; between chunks a look at the log. */
static void run_batches(struct thread *me)
{
    uint32_t total = me->request_count + me->local_count;
    for (uint32_t i = 0; i < total; i++) {
        if (i > 0 && i % model.chunk == 0 && !weak(WEAK_NO_CATCH_UP))
            catch_up(me);
        if (i < me->request_count) {
            struct message message = me->requests[i];
            run_group(me, message.group, me->id, me->checked.step);
            push(me->id, message.group->conn->thread,
                 (struct message){.kind = MESSAGE_REPLY, .group = message.group});
        } else {
            struct group *group = me->local[i - me->request_count];
            run_group(me, group, me->id, me->checked.step);
            group_part_done(group, group->left_mask);
        }
    }
    me->request_count = me->local_count = 0;
}

/* A group for one shard: here, on a sleeping shard that we take, or by lane. */
static void send_group(struct thread *me, struct group *group, uint32_t s)
{
    group->left_mask = bit(s);
    if (s == me->id) {
        me->local[me->local_count++] = group;
    } else if (chance(model.single_percent) && LOAD(model.shards[s].baton) == ASLEEP &&
               lend(me, s, 0, group)) {
        group_part_done(group, bit(s));
    } else {
        push(me->id, s, (struct message){.kind = MESSAGE_REQUEST, .group = group});
    }
}

/* A stateful operation travels alone, in an entry of its own. */
static bool publish_alone(struct thread *me, struct group *group, struct op *op)
{
    struct tx *tx = tx_take(me, op->kind == OP_CONFIG ? TX_ANNOUNCE
                                : op_is_together(op)  ? TX_TOGETHER
                                                      : TX_SCATTER);
    if (!tx)
        return false;
    tx_add(tx, op);
    group->left_mask = op->mask;
    if (!publish(me, tx, false)) {
        group->left_mask = 0;
        return false;
    }
    if (op->kind == OP_CONFIG) /* whoever acts later catches up first */
        group_part_done(group, op->mask);
    return true;
}

/* Cuts what the connection has pending into a group; true when it mixes shards. */
static bool form_group(struct thread *me, struct conn *conn, struct group *group)
{
    *group = (struct group){.conn = conn, .first = conn->taken};
    uint32_t mask = 0;
    while (conn->taken + group->count < conn->parsed && group->count < GROUP_OPS_MAX) {
        struct op *op = &conn->ops[conn->taken + group->count];
        if (op_is_alone(op) && group->count > 0)
            break;
        group->count++;
        mask |= op->mask;
        if (op_is_alone(op))
            break;
    }
    struct op *first = &conn->ops[group->first];
    if (!(mask & (mask - 1)) && first->kind != OP_CONFIG) {
        conn->taken += group->count;
        send_group(me, group, (uint32_t)__builtin_ctz(mask));
        return false;
    }
    if (op_is_alone(first)) {
        conn->taken++;
        if (!publish_alone(me, group, first))
            conn->taken--; /* again next turn */
        return false;
    }
    return true;
}

/* The broken way to run a pipeline: each operation fired by itself. */
static bool fire_apart(struct thread *me, struct conn *conn, struct group *pieces, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (conn->ops[conn->taken + i].mask & (conn->ops[conn->taken + i].mask - 1))
            return false;
    uint32_t first = conn->taken;
    conn->taken += count;
    for (uint32_t i = 0; i < count; i++) {
        pieces[i] = (struct group){.conn = conn, .first = first + i, .count = 1};
        pieces[i].left_mask = conn->ops[first + i].mask;
    }
    for (uint32_t i = 0; i < count; i++)
        send_group(me, &pieces[i], (uint32_t)__builtin_ctz(pieces[i].left_mask));
    return true;
}

/* Every connection without an outstanding group gets one; mixed groups share one super-batch. */
static void plan_and_publish(struct thread *me)
{
    struct group *mixed[WORLD_CONNS_MAX];
    uint32_t mixed_count = 0;
    me->needs_room = false;
    for (uint32_t i = 0; i < world.conn_count; i++) {
        struct conn *conn = &world.conns[i];
        struct group *group = me->groups[i];
        if (conn->thread != me->id || conn->taken != conn->replied || conn->taken == conn->parsed)
            continue;
        if (form_group(me, conn, group) &&
            !(weak(WEAK_PIPELINE_FIRED_APART) && fire_apart(me, conn, group, group->count)))
            mixed[mixed_count++] = group;
    }
    run_batches(me);

    struct tx *tx = mixed_count ? tx_take(me, TX_SCATTER) : NULL;
    uint32_t used = 0;
    for (; tx && used < mixed_count; used++) {
        struct group *group = mixed[used];
        if (tx->op_count + group->count > WORLD_CONN_OPS_MAX)
            break;
        for (uint32_t k = 0; k < group->count; k++) {
            tx_add(tx, &group->conn->ops[group->first + k]);
            group->left_mask |= group->conn->ops[group->first + k].mask;
        }
        group->conn->taken += group->count;
    }
    if (tx && !publish(me, tx, false)) {
        for (uint32_t i = 0; i < used; i++) {
            mixed[i]->conn->taken -= mixed[i]->count;
            mixed[i]->left_mask = 0;
        }
    }
}

static bool is_idle(const struct thread *me)
{
    if (me->needs_room)
        return true; /* for a while: the sleep is timed */
    if (me->follow_up_count > 0)
        return false;
    for (uint32_t i = 0; i < world.conn_count; i++) {
        const struct conn *conn = &world.conns[i];
        if (conn->thread == me->id && conn->taken == conn->replied && conn->taken < conn->parsed)
            return false;
    }
    return true;
}

/* For the weakened rule "commands without keys need not catch up". */
static void look_at_once(struct thread *me)
{
    for (uint32_t i = 0; i < world.conn_count; i++) {
        struct conn *conn = &world.conns[i];
        if (conn->thread != me->id || conn->taken != conn->replied || conn->taken == conn->parsed)
            continue;
        struct group *group = &me->groups[i][0];
        *group = (struct group){.conn = conn, .first = conn->taken, .count = 1, .left_mask = 1};
        if (conn->ops[group->first].kind != OP_LOOK) {
            group->left_mask = 0;
            continue;
        }
        conn->taken++;
        run_group(me, group, me->id, now());
        group_part_done(group, 1);
    }
}

static void turn(struct thread *me)
{
    if (weak(WEAK_CATCH_UP_BEFORE_TAKING))
        catch_up(me);
    io_only(me);
    if (weak(WEAK_NO_CATCH_UP_WITHOUT_KEYS))
        look_at_once(me);
    take_arrivals(me);
    retry_overflow(me->id);
    if (!weak(WEAK_CATCH_UP_BEFORE_TAKING) && !weak(WEAK_NO_CATCH_UP))
        catch_up(me);
    if (weak(WEAK_NO_CATCH_UP))
        me->checked = decided_now();
    run_timers(me);
    plan_and_publish(me);
    if (weak(WEAK_NO_CATCH_UP))
        catch_up(me);
    publish_follow_ups(me);
    flush(me->id);
    if (is_idle(me))
        sleep_in_ring(me);
}

void turn_run(uint32_t thread)
{
    for (;;)
        turn(&model.threads[thread]);
}
