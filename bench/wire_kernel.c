/* SPDX-License-Identifier: MIT */
/* Receivers on a kernel socket: recvmmsg(2), and io_uring where liburing is there. */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef BENCH_URING
#include <liburing.h>
#include <stdlib.h>
#endif

int wire_socket(void)
{
    const struct timeval timeout = {.tv_usec = 50000}; /* to see wire_stopping */
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(WIRE_PORT)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = 1 << 20;

    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
        bench_die("wire: kernel socket", errno);
    return fd;
}

static const char *run_recvmmsg(const struct wire_subject *self,
                                const struct bench_options *options)
{
    static char room[WIRE_BATCH][128];
    static struct sockaddr_in from[WIRE_BATCH];
    struct iovec iov[WIRE_BATCH];
    struct mmsghdr msgs[WIRE_BATCH] = {0};
    int fd = wire_socket();

    (void)self;
    bench_pin(options->cpu);
    for (unsigned i = 0; i < WIRE_BATCH; i++) {
        iov[i] = (struct iovec){room[i], sizeof(room[i])};
        msgs[i].msg_hdr =
            (struct msghdr){.msg_name = &from[i], .msg_iov = &iov[i], .msg_iovlen = 1};
    }
    wire_begin();
    while (!wire_stop()) {
        int n;

        for (unsigned i = 0; i < WIRE_BATCH; i++)
            msgs[i].msg_hdr.msg_namelen = sizeof(from[i]);
        n = recvmmsg(fd, msgs, WIRE_BATCH, MSG_WAITFORONE, NULL);
        if (n > 0)
            wire_count((unsigned)n);
    }
    close(fd);
    return NULL;
}

const struct wire_subject wire_recvmmsg = {.name = "recvmmsg",
                                           .kernel = true,
                                           .dest = WIRE_DEST,
                                           .enter = wire_net_enter,
                                           .run = run_recvmmsg};

#ifdef BENCH_URING

#define URING_BUFFERS 1024u
#define URING_SIZE 256u

static void uring_arm(struct io_uring *ring, int fd, struct msghdr *msg)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

    io_uring_prep_recvmsg_multishot(sqe, fd, msg, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = 0;
    io_uring_submit(ring);
}

/* Completions that are there; false: the request has ended and is to be made again. */
static bool uring_take(struct io_uring *ring, struct io_uring_buf_ring *bufs, char *area)
{
    struct io_uring_cqe *cqes[WIRE_BATCH];
    unsigned n = io_uring_peek_batch_cqe(ring, cqes, WIRE_BATCH), got = 0;
    bool armed = true;

    for (unsigned i = 0; i < n; i++) {
        armed = armed && (cqes[i]->flags & IORING_CQE_F_MORE);
        if (cqes[i]->res < 0)
            continue;
        unsigned id = cqes[i]->flags >> IORING_CQE_BUFFER_SHIFT;

        io_uring_buf_ring_add(bufs, area + (size_t)id * URING_SIZE, URING_SIZE, (unsigned short)id,
                              io_uring_buf_ring_mask(URING_BUFFERS), (int)got);
        got++;
    }
    io_uring_buf_ring_advance(bufs, (int)got);
    io_uring_cq_advance(ring, n);
    wire_count(got);
    return armed;
}

static struct io_uring_buf_ring *uring_buffers(struct io_uring *ring, char *area)
{
    struct io_uring_buf_ring *bufs =
        aligned_alloc(4096, URING_BUFFERS * sizeof(struct io_uring_buf));
    struct io_uring_buf_reg reg = {.ring_addr = (uintptr_t)bufs, .ring_entries = URING_BUFFERS};

    if (bufs == NULL || io_uring_register_buf_ring(ring, &reg, 0) != 0)
        return NULL;
    io_uring_buf_ring_init(bufs);
    for (unsigned i = 0; i < URING_BUFFERS; i++)
        io_uring_buf_ring_add(bufs, area + (size_t)i * URING_SIZE, URING_SIZE, (unsigned short)i,
                              io_uring_buf_ring_mask(URING_BUFFERS), (int)i);
    io_uring_buf_ring_advance(bufs, URING_BUFFERS);
    return bufs;
}

static const char *run_uring(const struct wire_subject *self, const struct bench_options *options)
{
    static char area[URING_BUFFERS * URING_SIZE];
    struct __kernel_timespec tick = {.tv_nsec = 50000000};
    struct msghdr msg = {.msg_namelen = sizeof(struct sockaddr_in)};
    struct io_uring_buf_ring *bufs;
    struct io_uring_cqe *cqe;
    struct io_uring ring;
    int fd;

    (void)self;
    bench_pin(options->cpu);
    if (io_uring_queue_init(2 * URING_BUFFERS, &ring, 0) != 0)
        return "io_uring is not permitted here";
    bufs = uring_buffers(&ring, area);
    if (bufs == NULL)
        return "io_uring has no buffer rings here";
    fd = wire_socket();
    uring_arm(&ring, fd, &msg);
    wire_begin();
    while (!wire_stop()) {
        if (io_uring_wait_cqe_timeout(&ring, &cqe, &tick) == 0 && !uring_take(&ring, bufs, area))
            uring_arm(&ring, fd, &msg);
    }
    io_uring_queue_exit(&ring);
    free(bufs);
    close(fd);
    return NULL;
}

#else

static const char *run_uring(const struct wire_subject *self, const struct bench_options *options)
{
    (void)self, (void)options;
    return "built without liburing (liburing-dev)";
}

#endif

const struct wire_subject wire_uring = {.name = "io_uring",
                                        .kernel = true,
                                        .dest = WIRE_DEST,
                                        .enter = wire_net_enter,
                                        .run = run_uring};
