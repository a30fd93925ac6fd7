#include "core/type/geo.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct geo_place palermo = {13.361389, 38.115556}, catania = {15.087269, 37.502669};

/* Scores, distances and texts of these places are in Redis's manual. */
Test(geo, gives_the_published_figures)
{
    char text[GEO_TEXT_LEN];
    cr_assert_eq(geo_score(palermo), UINT64_C(3479099956230698));
    cr_assert_eq(geo_score(catania), UINT64_C(3479447370796909));
    struct geo_place a = geo_place_of(3479099956230698.0), b = geo_place_of(3479447370796909.0);
    cr_assert_float_eq(geo_distance(a, b), 166274.1516, 0.0001);
    geo_text(a, text);
    cr_assert_eq(memcmp(text, "sqc8b49rny0", GEO_TEXT_LEN), 0);
    geo_text(b, text);
    cr_assert_eq(memcmp(text, "sqdtr74hyu0", GEO_TEXT_LEN), 0);
}

Test(geo, a_place_survives_its_score_but_for_a_step)
{
    for (double longitude = -179.5; longitude < 180; longitude += 13.7) {
        for (double latitude = -85; latitude < 85; latitude += 7.3) {
            struct geo_place place = {longitude, latitude};
            struct geo_place again = geo_place_of((double)geo_score(place));
            cr_assert_lt(fabs(again.longitude - longitude), 360.0 / (1 << 26));
            cr_assert_lt(fabs(again.latitude - latitude), 180.0 / (1 << 26));
        }
    }
}

Test(geo, any_number_is_some_place)
{
    static const double odd[] = {-1, -INFINITY, INFINITY, 1e300, 4503599627370496.0, 1.8e19, 0.5};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        cr_assert(geo_is_place(geo_place_of(odd[i])));
}

Test(geo, places_beyond_the_map_are_none)
{
    cr_assert(geo_is_place((struct geo_place){180, GEO_LATITUDE_MAX}));
    cr_assert_not(geo_is_place((struct geo_place){180.1, 0}));
    cr_assert_not(geo_is_place((struct geo_place){0, -85.06}));
    cr_assert_not(geo_is_place((struct geo_place){NAN, 0}));
}

/* What is within a shape must be within its ranges: tried over the whole map. */
Test(geo, ranges_hold_whatever_is_within_the_shape)
{
    for (int i = 0; i < 4000; i++) {
        struct geo_shape shape = {
            .center = {(i * 37 % 360) - 180, (i * 53 % 170) - 85},
            .is_box = i % 2,
            .radius = pow(10, i % 7),
            .width = pow(10, i % 7),
            .height = pow(10, i % 6),
            .unit = 1,
        };
        double spread = pow(10, i % 7) / 111000 / 2;
        struct geo_place place = {
            fmod(shape.center.longitude + spread * sin(i) + 540, 360) - 180,
            shape.center.latitude + spread * cos(i),
        };
        double distance, score = geo_is_place(place) ? (double)geo_score(place) : -1;
        if (score < 0 || !geo_shape_has(&shape, geo_place_of(score), &distance))
            continue;
        struct geo_range ranges[GEO_RANGES_MAX];
        size_t count = geo_shape_ranges(&shape, ranges), held = 0;
        for (size_t r = 0; r < count; r++)
            held += score >= ranges[r].low && score < ranges[r].high;
        cr_assert_geq(held, 1, "case %d", i);
    }
}
