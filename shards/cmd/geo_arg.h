/*
 * geo_arg: places and lengths among the words of the geo commands.
 */
#pragma once

#include "core/type/geo.h"
#include "shards/call/call.h"

/* The longitude and latitude at words `index` and after. */
MUST_CHECK enum status geo_arg_place(struct call *call, uint32_t index, struct geo_place *out);
/* A unit of length, in metres. */
MUST_CHECK enum status geo_arg_unit(struct call *call, uint32_t index, double *out);

/* A distance, of four digits behind the point. */
void geo_reply_distance(struct call *call, double distance);
/* A longitude and a latitude. */
void geo_reply_place(struct call *call, struct geo_place place);
