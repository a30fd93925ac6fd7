#include "core/type/compound.h"

#include "core/type/hash.h"
#include "core/type/list.h"
#include "core/type/set.h"
#include "core/type/stream.h"
#include "core/type/zset.h"

/* Each type's own, from its file. */
static const struct compound_ops *const ops[TYPE_COUNT] = {
    [TYPE_STRING] = NULL,    [TYPE_LIST] = &list_ops, [TYPE_SET] = &set_ops,
    [TYPE_ZSET] = &zset_ops, [TYPE_HASH] = &hash_ops, [TYPE_STREAM] = &stream_ops,
};

const struct compound_ops *compound_ops(enum type type)
{
    return ops[type];
}
