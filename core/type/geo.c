#include "core/type/geo.h"

#include <math.h>

#define STEPS_MAX 26             /* bits of each coordinate */
#define MERCATOR_MAX 20037726.37 /* m: half the equator on Mercator's map */
#define RADIAN (M_PI / 180.0)

#define LONGITUDE_BITS UINT64_C(0xaaaaaaaaaaaaaaaa)
#define LATITUDE_BITS UINT64_C(0x5555555555555555)

/* A cell of the map that is cut into 2^steps columns and rows; `steps` 0: none. */
struct cell {
    uint64_t bits;
    int steps;
};

struct area {
    double west, east, south, north;
};

/* What is cut. */
struct limits {
    double longitude, latitude;
};

static const struct limits map_limits = {GEO_LONGITUDE_MAX, GEO_LATITUDE_MAX};
static const struct limits text_limits = {180, 90};

/* ---- Bits
 * ------------------------------------------------------------------------------------------ */

/* Puts a zero bit before each of 32 bits. */
static uint64_t spread(uint64_t bits)
{
    bits = (bits | bits << 16) & UINT64_C(0x0000ffff0000ffff);
    bits = (bits | bits << 8) & UINT64_C(0x00ff00ff00ff00ff);
    bits = (bits | bits << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    bits = (bits | bits << 2) & UINT64_C(0x3333333333333333);
    return (bits | bits << 1) & UINT64_C(0x5555555555555555);
}

static uint32_t gather(uint64_t bits)
{
    bits &= UINT64_C(0x5555555555555555);
    bits = (bits | bits >> 1) & UINT64_C(0x3333333333333333);
    bits = (bits | bits >> 2) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    bits = (bits | bits >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    bits = (bits | bits >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (uint32_t)(bits | bits >> 16);
}

static struct cell cell_of(struct geo_place place, struct limits limits, int steps)
{
    double latitude = (place.latitude + limits.latitude) / (limits.latitude + limits.latitude);
    double longitude = (place.longitude + limits.longitude) / (limits.longitude + limits.longitude);
    double columns = (double)(UINT64_C(1) << steps);
    uint64_t bits = spread((uint32_t)(latitude * columns)) | spread((uint32_t)(longitude * columns))
                                                                 << 1;
    return (struct cell){.bits = bits, .steps = steps};
}

static struct area area_of(struct cell cell)
{
    double width = 2 * GEO_LONGITUDE_MAX, height = 2 * GEO_LATITUDE_MAX;
    double columns = (double)(UINT64_C(1) << cell.steps);
    uint32_t row = gather(cell.bits), column = gather(cell.bits >> 1);
    return (struct area){
        .south = -GEO_LATITUDE_MAX + (row * 1.0 / columns) * height,
        .north = -GEO_LATITUDE_MAX + ((row + 1) * 1.0 / columns) * height,
        .west = -GEO_LONGITUDE_MAX + (column * 1.0 / columns) * width,
        .east = -GEO_LONGITUDE_MAX + ((column + 1) * 1.0 / columns) * width,
    };
}

static double within(double value, double limit)
{
    return value > limit ? limit : value < -limit ? -limit : value;
}

bool geo_is_place(struct geo_place place)
{
    return place.longitude >= -GEO_LONGITUDE_MAX && place.longitude <= GEO_LONGITUDE_MAX &&
           place.latitude >= -GEO_LATITUDE_MAX && place.latitude <= GEO_LATITUDE_MAX;
}

uint64_t geo_score(struct geo_place place)
{
    return cell_of(place, map_limits, STEPS_MAX).bits;
}

/* Of numbers that are no scores, what the processor makes of them. */
static uint64_t to_bits(double score)
{
    const double two_63 = 9223372036854775808.0;
    if (score >= two_63)
        return score < 2 * two_63 ? (uint64_t)score : 0;
    return score >= -two_63 ? (uint64_t)(int64_t)score : UINT64_C(1) << 63;
}

struct geo_place geo_place_of(double score)
{
    struct area area = area_of((struct cell){.bits = to_bits(score), .steps = STEPS_MAX});
    return (struct geo_place){
        .longitude = within((area.west + area.east) / 2, GEO_LONGITUDE_MAX),
        .latitude = within((area.south + area.north) / 2, GEO_LATITUDE_MAX),
    };
}

void geo_text(struct geo_place place, char out[GEO_TEXT_LEN])
{
    static const char alphabet[] = "0123456789bcdefghjkmnpqrstuvwxyz";
    uint64_t bits = cell_of(place, text_limits, STEPS_MAX).bits;
    for (unsigned i = 0; i + 1 < GEO_TEXT_LEN; i++)
        out[i] = alphabet[bits >> (52 - 5 * (i + 1)) & 31];
    out[GEO_TEXT_LEN - 1] =
        alphabet[0]; /* 52 bits are ten letters; Redis has always given eleven */
}

/* ---- Distances
 * ------------------------------------------------------------------------------------- */

/* Along a meridian. */
static double latitude_distance(double a, double b)
{
    return GEO_EARTH_RADIUS * fabs(b * RADIAN - a * RADIAN);
}

double geo_distance(struct geo_place a, struct geo_place b)
{
    double v = sin((b.longitude * RADIAN - a.longitude * RADIAN) / 2);
    if (v == 0.0)
        return latitude_distance(a.latitude, b.latitude);
    double latitude_a = a.latitude * RADIAN, latitude_b = b.latitude * RADIAN;
    double u = sin((latitude_b - latitude_a) / 2);
    return 2.0 * GEO_EARTH_RADIUS * asin(sqrt(u * u + cos(latitude_a) * cos(latitude_b) * v * v));
}

bool geo_shape_has(const struct geo_shape *shape, struct geo_place place, double *out_distance)
{
    struct geo_place center = shape->center;
    if (shape->is_box) {
        if (latitude_distance(place.latitude, center.latitude) > shape->height * shape->unit / 2)
            return false;
        struct geo_place beside = {.longitude = center.longitude, .latitude = place.latitude};
        if (geo_distance(place, beside) > shape->width * shape->unit / 2)
            return false;
    }
    *out_distance = geo_distance(center, place);
    return shape->is_box || *out_distance <= shape->radius * shape->unit;
}

/* ---- Covering a shape
 * ------------------------------------------------------------------------------ */

/* The smallest area along the meridians that holds the shape. At its edge that is farther from the
 * equator a degree of longitude is shorter, and so spans more of them. */
static struct area bounds_of(const struct geo_shape *shape)
{
    double height = shape->unit * (shape->is_box ? shape->height / 2 : shape->radius);
    double width = shape->unit * (shape->is_box ? shape->width / 2 : shape->radius);
    struct geo_place center = shape->center;
    double latitudes = height / GEO_EARTH_RADIUS / RADIAN;
    double edge = center.latitude < 0 ? center.latitude - latitudes : center.latitude + latitudes;
    double longitudes = width / GEO_EARTH_RADIUS / cos(edge * RADIAN) / RADIAN;
    return (struct area){
        .west = center.longitude - longitudes,
        .east = center.longitude + longitudes,
        .south = center.latitude - latitudes,
        .north = center.latitude + latitudes,
    };
}

/* How fine the map may be cut so that a cell and its neighbours hold a circle of `radius` metres.
 */
static int steps_for(double radius, double latitude)
{
    if (radius == 0)
        return STEPS_MAX;
    int steps = 1;
    for (; radius < MERCATOR_MAX; radius *= 2)
        steps++;
    steps -= 2;
    if (fabs(latitude) > 66)
        steps--;
    if (fabs(latitude) > 80)
        steps--;
    return steps < 1 ? 1 : steps > STEPS_MAX ? STEPS_MAX : steps;
}

/* The bits of one coordinate, one up or down; round the edge of the map. */
static uint64_t move(uint64_t bits, uint64_t moved, uint64_t other, int steps, int by)
{
    uint64_t mask = moved >> (64 - steps * 2), gaps = other >> (64 - steps * 2);
    uint64_t value = bits & moved;
    if (by > 0)
        value += gaps + 1;
    else if (by < 0)
        value = (value | gaps) - (gaps + 1);
    return (value & mask) | (bits & other);
}

static struct cell neighbour(struct cell cell, int east, int north)
{
    if (east)
        cell.bits = move(cell.bits, LONGITUDE_BITS, LATITUDE_BITS, cell.steps, east);
    if (north)
        cell.bits = move(cell.bits, LATITUDE_BITS, LONGITUDE_BITS, cell.steps, north);
    return cell;
}

/* Do the cells around the centre's reach to the bounds? */
static bool is_covered(struct cell cell, const struct area *bounds)
{
    return area_of(neighbour(cell, 0, 1)).north >= bounds->north &&
           area_of(neighbour(cell, 0, -1)).south <= bounds->south &&
           area_of(neighbour(cell, 1, 0)).east >= bounds->east &&
           area_of(neighbour(cell, -1, 0)).west <= bounds->west;
}

/* Is the neighbour on that side of no use, since the shape ends before? */
static bool is_useless(const struct area *area, const struct area *bounds, int east, int north)
{
    return (north < 0 && area->south < bounds->south) ||
           (north > 0 && area->north > bounds->north) || (east < 0 && area->west < bounds->west) ||
           (east > 0 && area->east > bounds->east);
}

static struct geo_range range_of(struct cell cell)
{
    int shift = 2 * (STEPS_MAX - cell.steps);
    return (struct geo_range){(double)(cell.bits << shift), (double)((cell.bits + 1) << shift)};
}

size_t geo_shape_ranges(const struct geo_shape *shape, struct geo_range out[GEO_RANGES_MAX])
{
    /* The centre, then north, south, east, west and the corners: the order of answers without one.
     */
    static const int8_t sides[GEO_RANGES_MAX][2] = {{0, 0}, {0, 1},  {0, -1}, {1, 0},  {-1, 0},
                                                    {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
    double radius = shape->is_box ? sqrt((shape->width / 2) * (shape->width / 2) +
                                         (shape->height / 2) * (shape->height / 2))
                                  : shape->radius;
    struct area bounds = bounds_of(shape);
    int steps = steps_for(radius * shape->unit, shape->center.latitude);
    struct cell center = cell_of(shape->center, map_limits, steps);
    if (steps > 1 && !is_covered(center, &bounds))
        center = cell_of(shape->center, map_limits, --steps);
    struct area area = area_of(center);

    size_t count = 0;
    struct cell last = {0};
    for (size_t i = 0; i < GEO_RANGES_MAX; i++) {
        int east = sides[i][0], north = sides[i][1];
        if (steps >= 2 && is_useless(&area, &bounds, east, north))
            continue;
        struct cell cell = neighbour(center, east, north);
        /* On a coarse map neighbours may be the same. (The second is never compared: so Redis has
         * it.) */
        if (last.steps && cell.bits == last.bits)
            continue;
        out[count++] = range_of(cell);
        if (i > 0)
            last = cell;
    }
    return count;
}
