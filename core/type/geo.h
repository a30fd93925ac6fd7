/*
 * geo: places on the earth as numbers of 52 bits, whose order keeps what is near together.
 *
 * Longitude and latitude are cut into 2^26 steps each, whose bits are interleaved, the longitude's
 * first: a score of a sorted set. All figures are Redis's, to the last digit: the earth is a sphere
 * of GEO_EARTH_RADIUS, distances are great circles'. Source of the method: geohash (Niemeyer), and
 * the haversine formula. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEO_LONGITUDE_MAX 180.0
#define GEO_LATITUDE_MAX 85.05112878    /* where Mercator's map ends */
#define GEO_EARTH_RADIUS 6372797.560856 /* m */
#define GEO_TEXT_LEN 11u
#define GEO_RANGES_MAX 9u

/* Degrees. */
struct geo_place {
    double longitude, latitude;
};

/* Is it a place that can be kept? */
bool geo_is_place(struct geo_place place);

/* The score of a place, below 2^52. */
uint64_t geo_score(struct geo_place place);
/* The place of a score: the middle of what it stands for. Of any number at all some place. */
struct geo_place geo_place_of(double score);

/* Metres. */
double geo_distance(struct geo_place a, struct geo_place b);

/* The usual geohash, of latitudes from -90 to 90. */
void geo_text(struct geo_place place, char out[GEO_TEXT_LEN]);

/* An area around a centre: a circle, or a box along the meridians. */
struct geo_shape {
    struct geo_place center;
    bool is_box;
    double radius, width, height; /* in units of `unit` metres */
    double unit;
};

/* Is the place within the shape? `*out_distance`: from its centre, in metres. */
bool geo_shape_has(const struct geo_shape *shape, struct geo_place place, double *out_distance);

/* Scores from `low` to below `high`. */
struct geo_range {
    double low, high;
};

/* Ranges of scores that hold every place of the shape, and others: up to nine cells of one size,
 * the centre's first. Returns how many. */
size_t geo_shape_ranges(const struct geo_shape *shape, struct geo_range out[GEO_RANGES_MAX]);
