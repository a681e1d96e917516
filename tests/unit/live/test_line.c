/* SPDX-License-Identifier: MIT */
/* Interrupt lines that are not as they should be. */
#include "traffic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const enum sirq_delivery deliveries[] = {SIRQ_DELIVER_SIGNAL, SIRQ_DELIVER_THREAD,
                                                SIRQ_DELIVER_POLL};

static void handler(struct sirq_cpu *cpu, void *data)
{
    (void)cpu, (void)data;
}

static bool never_pending(void *data)
{
    (void)data;
    return false;
}

static void request_without_handler_or_pending_is_refused(void **state)
{
    struct sirq_live *live = env_start(SIRQ_DELIVER_THREAD, 1);
    struct sirq_irq deaf = {.fd = 0, .pending = never_pending};
    struct sirq_irq blind = {.fd = 0, .handler = handler};
    struct sirq_error err;

    (void)state;
    assert_int_equal(sirq_live_irq_request(live, env_numbers[0], &deaf, &err), -EINVAL);
    assert_non_null(strstr(err.text, "handler"));
    assert_int_equal(sirq_live_irq_request(live, env_numbers[0], &blind, &err), -EINVAL);
    assert_non_null(strstr(err.text, "pending"));
    assert_null(deaf.cpu);
    assert_null(blind.cpu);
    sirq_live_stop(live);
}

/* A closed descriptor can be delivered nowhere; another line of the same CPU is not harmed. */
static void cpu_with_interrupt_that_cannot_move_stays(void **state)
{
    (void)state;
    ENV_SKIP_UNLESS(env_ncpus >= 2, "needs 2 CPUs");
    for (unsigned i = 0; i < 3; i++) {
        struct sirq_live *live = env_start(deliveries[i], 2);
        struct sirq_irq bad = {.handler = handler, .pending = never_pending}, good = bad;
        struct sirq_error err = {{0}};
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        bad.fd = dup(fds[0]);
        good.fd = fds[0];
        assert_int_equal(sirq_live_irq_request(live, env_numbers[1], &bad, &err), 0);
        assert_int_equal(sirq_live_irq_request(live, env_numbers[1], &good, &err), 0);
        close(bad.fd);
        assert_int_equal(sirq_live_cpu_remove(live, env_numbers[1], &err), -EBADF);
        assert_non_null(strstr(err.text, "interrupt"));
        assert_non_null(sirq_live_cpu(live, env_numbers[1]));
        assert_null(bad.cpu);
        assert_ptr_equal(good.cpu, sirq_live_cpu(live, env_numbers[1]));
        assert_int_equal(sirq_live_cpu_remove(live, env_numbers[1], &err), 0);
        assert_ptr_equal(good.cpu, sirq_live_cpu(live, env_numbers[0]));
        sirq_live_irq_free(live, &good);
        sirq_live_stop(live);
        close(fds[0]);
        close(fds[1]);
    }
}

static struct traffic t;

static void detach_of_device_whose_interrupt_is_lost_disables_napi(void **state)
{
    struct sirq_error err;
    int kept;

    (void)state;
    ENV_SKIP_UNLESS(env_ncpus >= 2, "needs 2 CPUs");
    ENV_SKIP_UNLESS(!ENV_TSAN, "takes a descriptor from under its reader, which TSan reports");
    for (unsigned i = 0; i < 3; i++) {
        traffic_start(&t, deliveries[i], "ksoftirqd");
        __atomic_store_n(&t.stop_producer, 1, __ATOMIC_SEQ_CST);
        pthread_join(t.producer, NULL);
        kept = dup(t.dev.irq.fd);
        close(t.dev.irq.fd);
        assert_int_equal(sirq_live_cpu_remove(t.live, env_numbers[0], &err), -EBADF);
        assert_int_equal(dup2(kept, t.dev.irq.fd), t.dev.irq.fd);
        close(kept);
        assert_null(t.dev.irq.cpu);
        assert_int_equal(t.dev.napi.state & SIRQ_NAPI_DISABLED, 0);
        sirq_live_detach(t.live, &t.dev);
        assert_int_equal(t.dev.napi.state, SIRQ_NAPI_DISABLED);
        traffic_stop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_without_handler_or_pending_is_refused),
        cmocka_unit_test(cpu_with_interrupt_that_cannot_move_stays),
        cmocka_unit_test(detach_of_device_whose_interrupt_is_lost_disables_napi),
    };

    env_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
