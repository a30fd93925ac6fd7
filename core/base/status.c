#include "core/base/status.h"

static const struct bytes texts[STATUS_COUNT] = {
#define STATUS(name, text) [name] = {(text), sizeof(text) - 1},
#include "core/base/status_list.h"
#undef STATUS
};

struct bytes status_text(enum status status)
{
    ASSERT(status > WAITING);
    ASSERT(status < STATUS_COUNT);
    return texts[status];
}
