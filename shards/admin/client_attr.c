#include "shards/admin/client_attr.h"

bool client_attr_is_valid(struct bytes value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '!' || value.ptr[i] > '~')
            return false;
    }
    return true;
}
