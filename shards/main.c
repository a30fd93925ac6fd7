/* main: reads the command line and serves. */
#include <stdio.h>

#include "core/os/process.h"
#include "shards/admin/config_load.h"
#include "shards/call/command_table.h"
#include "shards/commands.h"
#include "shards/start.h"

int main(int argc, char **argv)
{
    struct config *config;
    process_title_init(argc, argv);
    command_table_build(command_families, command_family_groups);
    int status = config_load(argc, argv, &config, stdout, stderr);
    return status == CONFIG_START ? start_and_serve(config) : status;
}
