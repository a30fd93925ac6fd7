#include "shards/call/permit.h"

#include "shards/call/command.h"
#include "shards/call/session.h"
#include "shards/local/config.h"

enum status permit_check(const struct session *session, const struct config *config,
                         const struct command *command)
{
    if (unlikely(!session->authenticated && config->requirepass[0] &&
                 !(command->flags & CMD_NO_AUTH)))
        return ERR_NO_AUTH;
    if (unlikely(session->flags & SESSION_IN_MULTI && command->flags & CMD_NO_MULTI))
        return ERR_NOT_IN_MULTI;
    return OK;
}
