/* SPDX-License-Identifier: MIT */
/*
 * The tree of dtree.h.  Ties of deadline are broken by the order of insertion.  least_vruntime
 * is that of a task and of all below it: where it is after v, nobody is eligible.
 */
#define SIRQ_SIM_PRIVATE
#include "dtree.h"

enum { BEFORE, AFTER };

static bool earlier(const struct sirq_sim_task *a, const struct sirq_sim_task *b)
{
    int64_t diff = (int64_t)(a->deadline - b->deadline);

    return diff < 0 || (diff == 0 && a->fair_seq < b->fair_seq);
}

static unsigned height(const struct sirq_sim_task *task)
{
    return task != NULL ? task->height : 0;
}

/* What a task says of those below it, after they have changed. */
static void refresh(struct sirq_sim_task *task)
{
    task->height = 0;
    task->least_vruntime = task->vruntime;
    for (int side = BEFORE; side <= AFTER; side++) {
        const struct sirq_sim_task *child = task->child[side];

        if (child == NULL)
            continue;
        if (child->height > task->height)
            task->height = child->height;
        if ((int64_t)(child->least_vruntime - task->least_vruntime) < 0)
            task->least_vruntime = child->least_vruntime;
    }
    task->height++;
}

/* `task` goes down on `side`; its other child comes up and is the root. */
static struct sirq_sim_task *rotate(struct sirq_sim_task *task, int side)
{
    struct sirq_sim_task *up = task->child[!side];

    task->child[!side] = up->child[side];
    up->child[side] = task;
    refresh(task);
    refresh(up);
    return up;
}

static struct sirq_sim_task *balance(struct sirq_sim_task *task)
{
    for (int side = BEFORE; side <= AFTER; side++) {
        struct sirq_sim_task *child = task->child[side];

        if (height(child) <= height(task->child[!side]) + 1)
            continue;
        if (height(child->child[!side]) > height(child->child[side]))
            task->child[side] = rotate(child, side);
        return rotate(task, !side);
    }
    refresh(task);
    return task;
}

struct sirq_sim_task *sirq_dtree_insert(struct sirq_sim_task *root, struct sirq_sim_task *task)
{
    int side;

    if (root == NULL) {
        task->child[BEFORE] = task->child[AFTER] = NULL;
        refresh(task);
        return task;
    }
    side = earlier(task, root) ? BEFORE : AFTER;
    root->child[side] = sirq_dtree_insert(root->child[side], task);
    return balance(root);
}

static struct sirq_sim_task *take_first(struct sirq_sim_task *root, struct sirq_sim_task **first)
{
    if (root->child[BEFORE] == NULL) {
        *first = root;
        return root->child[AFTER];
    }
    root->child[BEFORE] = take_first(root->child[BEFORE], first);
    return balance(root);
}

struct sirq_sim_task *sirq_dtree_remove(struct sirq_sim_task *root, struct sirq_sim_task *task)
{
    struct sirq_sim_task *next, *rest;
    int side;

    assert(root != NULL);
    if (root != task) {
        side = earlier(task, root) ? BEFORE : AFTER;
        root->child[side] = sirq_dtree_remove(root->child[side], task);
        return balance(root);
    }
    if (task->child[BEFORE] == NULL || task->child[AFTER] == NULL)
        return task->child[task->child[BEFORE] == NULL ? AFTER : BEFORE];
    rest = take_first(task->child[AFTER], &next);
    next->child[BEFORE] = task->child[BEFORE];
    next->child[AFTER] = rest;
    return balance(next);
}

/* The earlier side whenever anybody there is eligible. */
struct sirq_sim_task *sirq_dtree_first(struct sirq_sim_task *root, uint64_t v)
{
    while (root != NULL) {
        struct sirq_sim_task *before = root->child[BEFORE];

        if (before != NULL && (int64_t)(before->least_vruntime - v) <= 0)
            root = before;
        else if ((int64_t)(root->vruntime - v) <= 0)
            return root;
        else
            root = root->child[AFTER];
    }
    return NULL;
}

struct sirq_sim_task *sirq_dtree_last_allowed(struct sirq_sim_task *root, unsigned cpu,
                                              unsigned *looks)
{
    struct sirq_sim_task *found;

    if (root == NULL)
        return NULL;
    found = sirq_dtree_last_allowed(root->child[AFTER], cpu, looks);
    if (found != NULL || *looks == 0)
        return found;
    --*looks;
    if (sirq_task_allowed(root, cpu))
        return root;
    return sirq_dtree_last_allowed(root->child[BEFORE], cpu, looks);
}
