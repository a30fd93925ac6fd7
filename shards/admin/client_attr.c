/* How: a copy on the general heap, freed when it is replaced or its session ends. */
#include "shards/admin/client_attr.h"

#include "core/base/mem.h"

bool client_attr_is_valid(struct bytes value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '!' || value.ptr[i] > '~')
            return false;
    }
    return true;
}

void client_attr_set(struct bytes *attr, struct bytes value)
{
    char *copy = NULL;
    if (value.len) {
        copy = mem_alloc(value.len);
        memcpy(copy, value.ptr, value.len);
    }
    mem_free((void *)attr->ptr);
    *attr = bytes_of(copy, value.len);
}
