/* SPDX-License-Identifier: MIT */
/*
 * Where things lie in the shared ring's memory, for both of its sides.
 */
#define SIRQ_DRIVER_PRIVATE
#include "shm_ring.h"

#include <errno.h>
#include <sys/mman.h>

static size_t descs_size(uint32_t ring_size)
{
    size_t descs = (size_t)ring_size * sizeof(struct sirq_shm_desc);

    return (descs + SIRQ_SHM_LINE - 1) / SIRQ_SHM_LINE * SIRQ_SHM_LINE;
}

void sirq_shm_map_sizes(struct sirq_shm_map *map, uint32_t ring_size, uint32_t frame_size)
{
    uint32_t lines = (frame_size + SIRQ_SHM_LINE - 1) / SIRQ_SHM_LINE;

    map->ring_size = ring_size;
    map->frame_size = frame_size;
    map->slot_size = (lines | 1) * SIRQ_SHM_LINE;
    map->size = SIRQ_SHM_HEADER + 2 * (descs_size(ring_size) + (size_t)ring_size * map->slot_size);
}

int sirq_shm_map_open(struct sirq_shm_map *map, int memfd)
{
    uint8_t *base =
        mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memfd, 0);

    if (base == MAP_FAILED)
        return -errno;
    map->ring = (struct sirq_shm_ring *)base;
    map->descs = (struct sirq_shm_desc *)(base + SIRQ_SHM_HEADER);
    map->frames = (uint8_t *)map->descs + descs_size(map->ring_size);
    map->tx_descs = (struct sirq_shm_desc *)(map->frames + (size_t)map->ring_size * map->slot_size);
    map->tx_frames = (uint8_t *)map->tx_descs + descs_size(map->ring_size);
    return 0;
}

void sirq_shm_map_close(struct sirq_shm_map *map)
{
    munmap(map->ring, map->size);
    map->ring = NULL;
}
