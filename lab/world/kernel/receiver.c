/* SPDX-License-Identifier: MIT */
/* Receivers on sockets of the kernel. */
#include "receiver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "world/common/frame.h"

#define RCVBUF (2 << 20) /* the kernel doubles it: some 5,000 small packets */
#define RR_PRIORITY 20
#define LOOK_US 50000 /* a receiver without datagrams looks up as often as this */
#define START_LOOKS 1000u
#define START_NS 5000000

static bool flag(const uint32_t *what)
{
    return __atomic_load_n(what, __ATOMIC_RELAXED) != 0;
}

static int set_up(const struct sirq_kernel_receivers *group)
{
    const struct sched_param param = {.sched_priority = RR_PRIORITY};
    cpu_set_t set;

    prctl(PR_SET_NAME, "receiver");
    CPU_ZERO(&set);
    CPU_SET(group->cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        return -errno;
    return group->rr && sched_setscheduler(0, SCHED_RR, &param) ? -errno : 0;
}

static void note_latency(struct sirq_kernel_receiver *r, const uint8_t *payload, size_t len)
{
    struct sirq_stamp stamp;
    uint64_t now = sirq_lab_now_ns();

    if (len < sizeof(stamp))
        return;
    memcpy(&stamp, payload, sizeof(stamp));
    sirq_hist_add(r->hist, now > stamp.sent_ns ? now - stamp.sent_ns : 0);
}

/* One receive call. */
static void receive(struct sirq_kernel_receiver *r, struct mmsghdr *msgs, const uint8_t *room)
{
    unsigned batch = r->group->batch;
    ssize_t n;

    if (batch == 1) {
        n = recv(r->fd, msgs->msg_hdr.msg_iov->iov_base, SIRQ_FRAME_MAX, 0);
        msgs->msg_len = n > 0 ? (unsigned)n : 0;
        n = n < 0 ? 0 : 1;
    } else {
        n = recvmmsg(r->fd, msgs, batch, MSG_WAITFORONE, NULL);
    }
    if (n <= 0)
        return;
    for (ssize_t i = 0; r->hist && i < n && flag(&r->group->measuring); i++)
        note_latency(r, room + (size_t)i * SIRQ_FRAME_MAX, msgs[i].msg_len);
    __atomic_store_n(&r->received, r->received + (uint64_t)n, __ATOMIC_RELAXED);
}

static void *receiver_main(void *arg)
{
    static _Thread_local uint8_t room[SIRQ_LAB_BATCH * SIRQ_FRAME_MAX];
    struct sirq_kernel_receiver *r = arg;
    struct mmsghdr msgs[SIRQ_LAB_BATCH] = {0};
    struct iovec iov[SIRQ_LAB_BATCH];

    for (unsigned i = 0; i < SIRQ_LAB_BATCH; i++) {
        iov[i] = (struct iovec){room + (size_t)i * SIRQ_FRAME_MAX, SIRQ_FRAME_MAX};
        msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
    }
    r->rc = set_up(r->group);
    /* Orders rc before the count that makes the starter read it. */
    __atomic_fetch_add(&r->group->ready, 1, __ATOMIC_RELEASE);
    while (!r->rc && !flag(&r->group->stop))
        receive(r, msgs, room);
    return NULL;
}

static int open_socket(unsigned i)
{
    const struct timeval timeout = {.tv_usec = LOOK_US};
    const struct sockaddr_in addr = {.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)(SIRQ_FLOOD_PORT + i))};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = RCVBUF, code;

    if (fd < 0)
        return -errno;
    if (!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) &&
        !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) &&
        !bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
        return fd;
    code = errno;
    close(fd);
    return -code;
}

static int start_one(struct sirq_kernel_receiver *r, unsigned i, bool latency,
                     struct sirq_error *err)
{
    int rc;

    r->fd = open_socket(i);
    if (r->fd < 0)
        return sirq_fail(err, r->fd == -EPERM ? EACCES : -r->fd, "socket of receiver %u: %s", i + 1,
                         strerror(-r->fd));
    r->hist = latency ? calloc(1, sizeof(*r->hist)) : NULL;
    rc = latency && !r->hist ? ENOMEM : pthread_create(&r->thread, NULL, receiver_main, r);
    if (rc) {
        close(r->fd);
        return sirq_fail(err, rc, "cannot start receiver %u: %s", i + 1, strerror(rc));
    }
    return 0;
}

static int wait_ready(const struct sirq_kernel_receivers *group, struct sirq_error *err)
{
    const struct timespec pause = {0, START_NS};
    unsigned looks = 0;

    for (; __atomic_load_n(&group->ready, __ATOMIC_ACQUIRE) < group->n; looks++) {
        if (looks == START_LOOKS)
            return sirq_fail(err, ETIMEDOUT, "receivers do not get to run on CPU %u", group->cpu);
        nanosleep(&pause, NULL);
    }
    for (unsigned i = 0; i < group->n; i++) {
        int rc = group->receiver[i].rc;

        if (rc == -EPERM && group->rr)
            return sirq_fail(err, EPERM,
                             "SCHED_RR is not permitted to a thread here (CAP_SYS_NICE, or "
                             "cpu.rt_runtime_us of its cgroup)");
        if (rc)
            return sirq_fail(err, -rc, "receiver %u: %s", i + 1, strerror(-rc));
    }
    return 0;
}

int sirq_kernel_receivers_start(struct sirq_kernel_receivers *group,
                                const struct sirq_kernel_receiving *how, struct sirq_error *err)
{
    int rc = 0;

    *group = (struct sirq_kernel_receivers){
        .n = how->n, .batch = how->batch, .cpu = how->cpu, .rr = how->rr};
    group->receiver = aligned_alloc(64, how->n * sizeof(*group->receiver));
    if (!group->receiver)
        return sirq_fail(err, ENOMEM, "out of memory");
    memset(group->receiver, 0, how->n * sizeof(*group->receiver));
    for (unsigned i = 0; i < how->n && !rc; i++) {
        group->receiver[i].group = group;
        rc = start_one(&group->receiver[i], i, how->latency, err);
        group->started += !rc;
    }
    if (!rc)
        rc = wait_ready(group, err);
    if (rc) {
        sirq_kernel_receivers_stop(group);
        sirq_kernel_receivers_free(group);
    }
    return rc;
}

void sirq_kernel_receivers_measure(struct sirq_kernel_receivers *group, bool on)
{
    __atomic_store_n(&group->measuring, on, __ATOMIC_RELAXED);
}

void sirq_kernel_receivers_stop(struct sirq_kernel_receivers *group)
{
    __atomic_store_n(&group->stop, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < group->started; i++) {
        pthread_join(group->receiver[i].thread, NULL);
        close(group->receiver[i].fd);
    }
    group->started = 0;
}

void sirq_kernel_receivers_free(struct sirq_kernel_receivers *group)
{
    for (unsigned i = 0; group->receiver && i < group->n; i++)
        free(group->receiver[i].hist);
    free(group->receiver);
    group->receiver = NULL;
}

uint64_t sirq_kernel_receiver_count(const struct sirq_kernel_receiver *receiver)
{
    return __atomic_load_n(&receiver->received, __ATOMIC_RELAXED);
}
