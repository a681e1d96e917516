/* SPDX-License-Identifier: MIT */
/* The event queue and the random numbers. */
#define SIRQ_SIM_PRIVATE
#include "../../src/sim/evq.h"
#include "../../src/sim/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVENTS 500u

struct item {
    struct sirq_event event;
    uint64_t time, order;
    bool queued;
};

static void queue_random_adds_and_cancels_come_in_order(void **state)
{
    struct sirq_evq evq;
    struct sirq_rng rng;
    struct item *items = calloc(EVENTS, sizeof(*items));
    uint64_t now = 0, order = 0;

    (void)state;
    sirq_rng_seed(&rng, 7, 0);
    assert_int_equal(sirq_evq_init(&evq, EVENTS), 0);
    for (unsigned step = 0; step < 100000; step++) {
        struct item *item = &items[sirq_rng_below(&rng, EVENTS)];

        if (item->queued) {
            sirq_evq_cancel(&evq, &item->event);
            item->queued = false;
        } else if (sirq_rng_below(&rng, 3) > 0 || evq.len == 0) {
            item->time = now + sirq_rng_below(&rng, 20);
            item->order = order++;
            item->queued = true;
            sirq_evq_add(&evq, &item->event, item->time);
        } else {
            struct item *first = NULL;
            uint64_t time;

            for (unsigned i = 0; i < EVENTS; i++)
                if (items[i].queued &&
                    (first == NULL || items[i].time < first->time ||
                     (items[i].time == first->time && items[i].order < first->order)))
                    first = &items[i];
            assert_int_equal(evq.next, first->time);
            assert_ptr_equal(sirq_evq_pop(&evq, &time), &first->event);
            assert_int_equal(time, first->time);
            first->queued = false;
            now = time;
        }
    }
    sirq_evq_fini(&evq);
    free(items);
}

static void queue_same_time_keeps_order_of_adding(void **state)
{
    struct sirq_event events[64];
    struct sirq_evq evq;
    uint64_t time;

    (void)state;
    memset(events, 0, sizeof(events));
    assert_int_equal(sirq_evq_init(&evq, 64), 0);
    for (unsigned i = 0; i < 64; i++)
        sirq_evq_add(&evq, &events[i], 5);
    for (unsigned i = 0; i < 64; i++)
        assert_ptr_equal(sirq_evq_pop(&evq, &time), &events[i]);
    assert_int_equal(evq.next, UINT64_MAX);
    sirq_evq_fini(&evq);
}

static void rng_below_stays_below_and_is_even(void **state)
{
    struct sirq_rng rng;
    unsigned count[7] = {0};

    (void)state;
    sirq_rng_seed(&rng, 1, 1);
    for (unsigned i = 0; i < 70000; i++)
        count[sirq_rng_below(&rng, 7)]++;
    for (unsigned i = 0; i < 7; i++)
        assert_in_range(count[i], 9500, 10500);
}

static void rng_exponential_has_its_moments(void **state)
{
    const uint64_t mean = 1000000;
    double sum = 0, squares = 0;
    unsigned tail = 0;
    struct sirq_rng rng;

    (void)state;
    sirq_rng_seed(&rng, 3, 0);
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t x = sirq_rng_exp(&rng, mean);

        sum += (double)x;
        squares += (double)x * (double)x;
        tail += x > 3 * mean;
    }
    assert_true(sum / 2e5 > 0.99e6 && sum / 2e5 < 1.01e6);
    assert_true(squares / 2e5 > 1.96e12 && squares / 2e5 < 2.04e12); /* 2 mean^2 */
    assert_in_range(tail, 9600, 10320);                              /* e^-3 = 4.98 % */
}

static void rng_first_numbers_are_the_known_ones(void **state)
{
    struct sirq_rng rng;

    (void)state;
    sirq_rng_seed(&rng, 42, 0);
    assert_int_equal(sirq_rng_next(&rng), UINT64_C(1865750160070900731));
    assert_int_equal(sirq_rng_exp(&rng, 1000000000), UINT64_C(999268222));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_random_adds_and_cancels_come_in_order),
        cmocka_unit_test(queue_same_time_keeps_order_of_adding),
        cmocka_unit_test(rng_below_stays_below_and_is_even),
        cmocka_unit_test(rng_exponential_has_its_moments),
        cmocka_unit_test(rng_first_numbers_are_the_known_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
