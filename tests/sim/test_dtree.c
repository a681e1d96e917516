/* SPDX-License-Identifier: MIT */
/* The tree of deadlines beside a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SIRQ_SIM_PRIVATE
#include "../../src/sim/dtree.h"

#define TASKS 600u

static struct sirq_sim_task *task;
static bool inside[TASKS];
static struct sirq_rng rng;
static struct sirq_vcpu vcpus[2] = {{.active = true}, {.active = true}};
static struct sirq_sim sim = {.vcpus = vcpus, .ncpus = 2};

static int set_up(void **state)
{
    (void)state;
    task = calloc(TASKS, sizeof(*task));
    if (task == NULL)
        return -1;
    for (unsigned i = 0; i < TASKS; i++) {
        task[i].sim = &sim;
        inside[i] = false;
    }
    sirq_rng_seed(&rng, 7, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(task);
    return 0;
}

/* Around the wrap of 64 bits, with many ties. */
static void draw(struct sirq_sim_task *t, uint64_t seq)
{
    t->deadline = UINT64_MAX - 100 + sirq_rng_below(&rng, 200);
    t->vruntime = UINT64_MAX - 100 + sirq_rng_below(&rng, 200);
    t->fair_seq = seq;
    t->allowed[0] = sirq_rng_below(&rng, 4);
}

static bool before(const struct sirq_sim_task *a, const struct sirq_sim_task *b)
{
    int64_t diff = (int64_t)(a->deadline - b->deadline);

    return diff < 0 || (diff == 0 && a->fair_seq < b->fair_seq);
}

static struct sirq_sim_task *expected(uint64_t v)
{
    struct sirq_sim_task *best = NULL;

    for (unsigned i = 0; i < TASKS; i++)
        if (inside[i] && (int64_t)(task[i].vruntime - v) <= 0 &&
            (best == NULL || before(&task[i], best)))
            best = &task[i];
    return best;
}

/* Nodes below and with `t`; heights and order on the way. */
static unsigned check(const struct sirq_sim_task *t)
{
    unsigned n = 1;

    if (t == NULL)
        return 0;
    for (int side = 0; side < 2; side++) {
        const struct sirq_sim_task *child = t->child[side];

        n += check(child);
        assert_true(child == NULL || before(child, t) == (side == 0));
    }
    return n;
}

static void dtree_random_changes_find_the_earliest_eligible(void **state)
{
    struct sirq_sim_task *root = NULL;
    unsigned n = 0;

    (void)state;
    for (uint64_t step = 0; step < 6000; step++) {
        unsigned i = (unsigned)sirq_rng_below(&rng, TASKS);
        uint64_t v = UINT64_MAX - 110 + sirq_rng_below(&rng, 220);

        if (inside[i]) {
            root = sirq_dtree_remove(root, &task[i]);
        } else {
            draw(&task[i], step);
            root = sirq_dtree_insert(root, &task[i]);
        }
        inside[i] = !inside[i];
        n = inside[i] ? n + 1 : n - 1;
        assert_ptr_equal(sirq_dtree_first(root, v), expected(v));
        if (step % 50 == 0)
            assert_int_equal(check(root), n);
    }
}

static void dtree_sorted_insertion_stays_flat(void **state)
{
    struct sirq_sim_task *root = NULL;

    (void)state;
    for (unsigned i = 0; i < TASKS; i++) {
        task[i].deadline = i;
        root = sirq_dtree_insert(root, &task[i]);
    }
    assert_in_range(root->height, 10, 13); /* 1.45 * log2(602) */
    for (unsigned i = 0; i < TASKS - 1; i++)
        root = sirq_dtree_remove(root, &task[i]);
    assert_ptr_equal(root, &task[TASKS - 1]);
    assert_int_equal(root->height, 1);
}

static void dtree_last_allowed_looks_as_often_as_it_may(void **state)
{
    struct sirq_sim_task *root = NULL;
    unsigned looks = 32;

    (void)state;
    for (unsigned i = 0; i < TASKS; i++) {
        task[i].deadline = i;
        task[i].allowed[0] = i == TASKS - 20 || i == TASKS - 40;
        root = sirq_dtree_insert(root, &task[i]);
    }
    assert_ptr_equal(sirq_dtree_last_allowed(root, 0, &looks), &task[TASKS - 20]);
    task[TASKS - 20].allowed[0] = 0;
    looks = 32;
    assert_null(sirq_dtree_last_allowed(root, 0, &looks));
    assert_int_equal(looks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dtree_random_changes_find_the_earliest_eligible, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(dtree_sorted_insertion_stays_flat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dtree_last_allowed_looks_as_often_as_it_may, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
