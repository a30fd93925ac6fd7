#include "core/type/compound.h"

/* Each type's own, from its file. */
static const struct compound_ops *const ops[TYPE_COUNT] = {
    [TYPE_STRING] = NULL,
};

const struct compound_ops *compound_ops(enum type type)
{
    return ops[type];
}
