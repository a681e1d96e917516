/* SPDX-License-Identifier: MIT */
/* The table of drivers, and what opening one with bad arguments says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <sirq/driver.h>

enum sirq_drop sirq_net_rx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame,
                           uint32_t len, uint64_t rx_ns)
{
    (void)cpu, (void)dev, (void)frame, (void)len, (void)rx_ns;
    fail_msg("no device is open");
    return SIRQ_DELIVERED;
}

static void driver_find_every_name_gives_its_driver(void **state)
{
    size_t n = 0;

    (void)state;
    for (; sirq_drivers[n]; n++)
        assert_ptr_equal(sirq_driver_find(sirq_drivers[n]->name), sirq_drivers[n]);
    assert_int_equal(n, 5);
    assert_non_null(sirq_driver_find("pcap"));
    assert_non_null(sirq_driver_find("tap"));
    assert_non_null(sirq_driver_find("xdp"));
    assert_non_null(sirq_driver_find("shm"));
    assert_non_null(sirq_driver_find("packet"));
}

static void driver_find_unknown_name_gives_null(void **state)
{
    (void)state;
    assert_null(sirq_driver_find("sh"));
    assert_null(sirq_driver_find("shmm"));
    assert_null(sirq_driver_find(""));
}

static void open_refused(const char *name, unsigned ring, unsigned frame, int rc, const char *word)
{
    struct sirq_netdev_config config = {.ifname = "lo", .ring_size = ring, .frame_size = frame};
    struct sirq_netdev dev = {0};
    struct sirq_error err = {""};

    dev.driver = sirq_driver_find(name);
    assert_int_equal(dev.driver->open(&dev, &config, &err), rc);
    assert_non_null(strstr(err.text, word));
    assert_int_equal(dev.driver->open(&dev, &config, NULL), rc);
    assert_null(dev.priv);
}

static void driver_open_bad_sizes_are_refused_by_name(void **state)
{
    static const char *const names[] = {"shm", "packet"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_refused(names[i], 1000, 0, -EINVAL, "ring_size 1000");
        open_refused(names[i], 1u << 21, 0, -EINVAL, "ring_size");
        open_refused(names[i], 0, 63, -EINVAL, "frame_size 63");
        open_refused(names[i], 0, 65537, -EINVAL, "frame_size 65537");
        open_refused(names[i], 1u << 20, 65536, -E2BIG, "give less");
    }
}

static void driver_open_second_queue_is_refused(void **state)
{
    static const char *const names[] = {"shm", "packet"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sirq_netdev_config config = {.ifname = "lo", .queue = 1};
        struct sirq_netdev dev = {.driver = sirq_driver_find(names[i])};
        struct sirq_error err = {""};

        assert_int_equal(dev.driver->open(&dev, &config, &err), -EINVAL);
        assert_non_null(strstr(err.text, "queue 1"));
        assert_null(dev.priv);
    }
}

static void fail_long_text_is_cut_and_code_negated(void **state)
{
    struct sirq_error err;
    char text[400];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    assert_int_equal(sirq_fail(&err, EBUSY, "%s", text), -EBUSY);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(driver_find_every_name_gives_its_driver),
        cmocka_unit_test(driver_find_unknown_name_gives_null),
        cmocka_unit_test(driver_open_bad_sizes_are_refused_by_name),
        cmocka_unit_test(driver_open_second_queue_is_refused),
        cmocka_unit_test(fail_long_text_is_cut_and_code_negated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
