/* SPDX-License-Identifier: MIT */
/*
 * The XDP program of an interface: frames of a queue that has a socket go to it, all others to
 * the kernel.  Four instructions, so that no compiler for BPF is needed.
 *
 * It is held by a bpf_link, which the kernel detaches when its last descriptor closes: at our
 * close, or when the process dies.  (libxdp's own programs are pinned and stay.)  An interface
 * takes one such program, so all queues that this process opens share it; a second process
 * gets EBUSY.
 */
#define SIRQ_DRIVER_PRIVATE
#include "xdp.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sirq_xdp_prog {
    struct sirq_xdp_prog *next;
    int index;
    ino_t netns; /* an interface's index is that of its namespace */
    unsigned users;
    int map, link;
    bool native;
};

static pthread_mutex_t prog_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sirq_xdp_prog *prog_list; /* under prog_lock */

static ino_t netns_current(void)
{
    struct stat st = {0};

    return stat("/proc/thread-self/ns/net", &st) == 0 ? st.st_ino : 0;
}

/* A link whose interface has gone is on interface 0. */
static bool prog_alive(const struct sirq_xdp_prog *prog)
{
    struct bpf_link_info info = {0};
    uint32_t len = sizeof(info);

    return bpf_obj_get_info_by_fd(prog->link, &info, &len) == 0 && info.xdp.ifindex != 0;
}

static struct sirq_xdp_prog *prog_find_locked(int index, ino_t netns)
{
    for (struct sirq_xdp_prog *prog = prog_list; prog; prog = prog->next) {
        if (prog->index == index && prog->netns == netns && prog_alive(prog))
            return prog;
    }
    return NULL;
}

/* return bpf_redirect_map(map, ctx->rx_queue_index, XDP_PASS); */
static int prog_load(int map)
{
    const struct bpf_insn code[] = {
        {.code = BPF_LDX | BPF_MEM | BPF_W,
         .dst_reg = BPF_REG_2,
         .src_reg = BPF_REG_1,
         .off = offsetof(struct xdp_md, rx_queue_index)},
        {.code = BPF_LD | BPF_DW | BPF_IMM, /* NOLINT(misc-redundant-expression) */
         .dst_reg = BPF_REG_1,
         .src_reg = BPF_PSEUDO_MAP_FD,
         .imm = map},
        {0}, /* the upper half of the constant */
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
        {.code = BPF_JMP | BPF_EXIT},
    };

    return bpf_prog_load(BPF_PROG_TYPE_XDP, "sirq_xdp", "MIT", code, sizeof(code) / sizeof(code[0]),
                         NULL);
}

static int prog_link(int fd, int index, uint32_t flags)
{
    LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);

    return bpf_link_create(fd, index, BPF_XDP, &opts);
}

static int prog_fail(int code, const char *ifname, unsigned mtu, struct sirq_error *err)
{
    if (code == EPERM || code == EACCES)
        return sirq_fail(err, EPERM,
                         "xdp: a program on interface %s needs CAP_BPF and CAP_NET_ADMIN of the "
                         "first user namespace: run as root",
                         ifname);
    if (code == EBUSY || code == EEXIST)
        return sirq_fail(err, EBUSY,
                         "xdp: interface %s has an XDP program: end the process that has it, or "
                         "ip link set %s xdp off",
                         ifname, ifname);
    if (code == ERANGE || code == EINVAL || code == EOPNOTSUPP)
        return sirq_fail(err, code,
                         "xdp: interface %s takes no XDP program at its MTU of %u (%s): ip link "
                         "set %s mtu 1500, or use the driver packet",
                         ifname, mtu, strerror(code), ifname);
    return sirq_fail(err, code, "xdp: no XDP program on interface %s (%s): Linux 5.9 or later?",
                     ifname, strerror(code));
}

/* In the interface's driver where it can, else on socket buffers. */
static int prog_attach(struct sirq_xdp_prog *prog)
{
    int fd, code;

    prog->map = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "sirq_xsks", sizeof(uint32_t), sizeof(uint32_t),
                               SIRQ_XDP_QUEUES_MAX, NULL);
    if (prog->map < 0)
        return -errno;
    fd = prog_load(prog->map);
    if (fd < 0)
        goto map;
    prog->link = prog_link(fd, prog->index, XDP_FLAGS_DRV_MODE);
    prog->native = prog->link >= 0;
    if (!prog->native && errno != EBUSY && errno != EEXIST && errno != EPERM)
        prog->link = prog_link(fd, prog->index, XDP_FLAGS_SKB_MODE);
    code = errno;
    close(fd);
    errno = code;
    if (prog->link >= 0)
        return 0;
map:
    code = errno;
    close(prog->map);
    return -code;
}

int sirq_xdp_prog_get(struct sirq_xdp_prog **out, int index, const char *ifname, unsigned mtu,
                      struct sirq_error *err)
{
    ino_t netns = netns_current();
    struct sirq_xdp_prog *prog;
    int rc = 0;

    pthread_mutex_lock(&prog_lock);
    prog = prog_find_locked(index, netns);
    if (!prog) {
        prog = calloc(1, sizeof(*prog));
        if (prog) {
            *prog = (struct sirq_xdp_prog){.next = prog_list, .index = index, .netns = netns};
            rc = prog_attach(prog);
        }
        if (!prog || rc < 0) {
            pthread_mutex_unlock(&prog_lock);
            free(prog);
            return prog_fail(prog ? -rc : ENOMEM, ifname, mtu, err);
        }
        prog_list = prog;
    }
    prog->users++;
    pthread_mutex_unlock(&prog_lock);
    *out = prog;
    return 0;
}

void sirq_xdp_prog_put(struct sirq_xdp_prog *prog)
{
    struct sirq_xdp_prog **at = &prog_list;

    pthread_mutex_lock(&prog_lock);
    if (--prog->users == 0) {
        while (*at != prog)
            at = &(*at)->next;
        *at = prog->next;
        close(prog->link);
        close(prog->map);
        free(prog);
    }
    pthread_mutex_unlock(&prog_lock);
}

int sirq_xdp_prog_redirect(struct sirq_xdp_prog *prog, unsigned queue, int fd)
{
    uint32_t key = queue;
    int rc = fd >= 0 ? bpf_map_update_elem(prog->map, &key, &fd, BPF_ANY)
                     : bpf_map_delete_elem(prog->map, &key);

    return rc < 0 ? -errno : 0;
}

bool sirq_xdp_prog_native(const struct sirq_xdp_prog *prog)
{
    return prog->native;
}
