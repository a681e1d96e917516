/* SPDX-License-Identifier: MIT */
/* The rows of the matrix of policies that an experiment gives. */
#ifndef SIRQ_LAB_SIM_SHARES_H
#define SIRQ_LAB_SIM_SHARES_H

#include "cells.h"
#include "matrix.h"

/* Add the rows of an experiment whose policies are those of the matrix.  Kept by reference.  0 or
 * -ENOMEM. */
int sirq_sim_matrix_add(struct sirq_matrix *matrix, const char *experiment,
                        const struct sirq_sim_cells *cells);

#endif
