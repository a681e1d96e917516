/* SPDX-License-Identifier: MIT */
/* sirq/llist.h, one context at a time; the live tests push from several threads. */
#include "fake_host.h"

static void push_tells_whether_list_was_empty(void **state)
{
    struct sirq_llist list = {NULL};
    struct sirq_lnode a, b;

    (void)state;
    assert_true(sirq_llist_empty(&list));
    assert_true(sirq_llist_push(&list, &a));
    assert_false(sirq_llist_empty(&list));
    assert_false(sirq_llist_push(&list, &b));
}

static void take_of_several_returns_oldest_first(void **state)
{
    struct sirq_llist list = {NULL};
    struct sirq_lnode node[5], *at;

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        sirq_llist_push(&list, &node[i]);
    at = sirq_llist_take(&list);
    for (unsigned i = 0; i < 5; i++, at = at->next)
        assert_ptr_equal(at, &node[i]);
    assert_null(at);
}

static void take_leaves_list_empty_and_usable(void **state)
{
    struct sirq_llist list = {NULL};
    struct sirq_lnode node;

    (void)state;
    assert_null(sirq_llist_take(&list));
    sirq_llist_push(&list, &node);
    assert_ptr_equal(sirq_llist_take(&list), &node);
    assert_true(sirq_llist_empty(&list));
    assert_null(sirq_llist_take(&list));
    assert_true(sirq_llist_push(&list, &node)); /* the same node again */
    assert_ptr_equal(sirq_llist_take(&list), &node);
    assert_null(node.next);
}

static void container_of_field_finds_structure(void **state)
{
    struct {
        int before;
        struct sirq_lnode node;
    } outer[2];

    (void)state;
    assert_ptr_equal(SIRQ_CONTAINER(&outer[1].node, __typeof__(outer[0]), node), &outer[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(push_tells_whether_list_was_empty),
        cmocka_unit_test(take_of_several_returns_oldest_first),
        cmocka_unit_test(take_leaves_list_empty_and_usable),
        cmocka_unit_test(container_of_field_finds_structure),
    };

    return cmocka_run_group_tests_name("llist", tests, NULL, NULL);
}
