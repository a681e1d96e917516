/* SPDX-License-Identifier: MIT */
/* Both files in one order, then as a merge of two sorted lists. */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "table.h"

struct comparison {
    struct sirq_lab_table table;
    unsigned both, moved, only[2];
};

static int by_cell(const void *a, const void *b)
{
    const struct sirq_csv_row *x = a, *y = b;
    const char *const left[] = {x->experiment, x->setup, x->world, x->policy, x->metric};
    const char *const right[] = {y->experiment, y->setup, y->world, y->policy, y->metric};
    int order = 0;

    for (unsigned i = 0; i < sizeof(left) / sizeof(left[0]) && order == 0; i++)
        order = strcmp(left[i], right[i]);
    return order;
}

/* A claim holds or not, whatever single seeds say; figures have moved when no value is in the spread
 * of both. */
static bool has_moved(const struct sirq_csv_row *a, const struct sirq_csv_row *b)
{
    if (strcmp(a->unit, "claim") == 0)
        return a->value != b->value;
    return a->most < b->least || b->most < a->least;
}

/* "12.3 (11.9..12.8)" */
static void put_value(struct sirq_lab_table *table, unsigned column, const struct sirq_csv_row *row)
{
    if (row->spread)
        sirq_lab_table_cell(table, column, "%.4g (%.4g..%.4g)", row->value, row->least, row->most);
    else
        sirq_lab_table_cell(table, column, "%.4g", row->value);
}

/* `any`: one of them; either may be null. */
static void put_row(struct comparison *c, const struct sirq_csv_row *any,
                    const struct sirq_csv_row *a, const struct sirq_csv_row *b)
{
    if (sirq_lab_table_row(&c->table) != 0)
        return;
    sirq_lab_table_cell(&c->table, 0, "%s", any->experiment);
    sirq_lab_table_cell(&c->table, 1, "%s", any->setup);
    sirq_lab_table_cell(&c->table, 2, "%s", any->world);
    sirq_lab_table_cell(&c->table, 3, "%s", any->policy);
    sirq_lab_table_cell(&c->table, 4, "%s", any->metric);
    sirq_lab_table_cell(&c->table, 5, "%s", any->unit);
    if (a != NULL)
        put_value(&c->table, 6, a);
    if (b != NULL)
        put_value(&c->table, 7, b);
    if (a == NULL || b == NULL)
        sirq_lab_table_cell(&c->table, 8, "only there");
    else if (a->value != 0)
        sirq_lab_table_cell(&c->table, 8, "%+.1f%%", 100 * (b->value / a->value - 1));
}

static void merge(struct comparison *c, const struct sirq_csv_table *a,
                  const struct sirq_csv_table *b)
{
    size_t i = 0, k = 0;

    while (i < a->n || k < b->n) {
        int order = i == a->n ? 1 : k == b->n ? -1 : by_cell(&a->rows[i], &b->rows[k]);

        if (order < 0) {
            put_row(c, &a->rows[i], &a->rows[i], NULL);
            i++;
            c->only[0]++;
        } else if (order > 0) {
            put_row(c, &b->rows[k], NULL, &b->rows[k]);
            k++;
            c->only[1]++;
        } else {
            if (has_moved(&a->rows[i], &b->rows[k])) {
                put_row(c, &a->rows[i], &a->rows[i], &b->rows[k]);
                c->moved++;
            }
            c->both++;
            i++;
            k++;
        }
    }
}

static void print(struct comparison *c, const char *a, const char *b, FILE *out)
{
    if (c->table.nrows != 0) {
        sirq_lab_table_print(&c->table, out, 0);
        fputc('\n', out);
    }
    fprintf(out, "%u cells in both, %u moved beyond their spread; %u only in %s, %u only in %s\n",
            c->both, c->moved, c->only[0], a, c->only[1], b);
}

static void compare(struct comparison *c, const struct sirq_csv_table *a,
                    const struct sirq_csv_table *b)
{
    static const char *const titles[] = {"experiment", "setup", "world", "policy", "metric",
                                         "unit",       "A",     "B",     "change"};

    sirq_lab_table_init(&c->table);
    for (unsigned i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        sirq_lab_table_column(&c->table, titles[i], i < 6, 0);
    if (a->n != 0)
        qsort(a->rows, a->n, sizeof(a->rows[0]), by_cell);
    if (b->n != 0)
        qsort(b->rows, b->n, sizeof(b->rows[0]), by_cell);
    merge(c, a, b);
}

int sirq_lab_compare(const char *a, const char *b, unsigned *moved, FILE *out,
                     struct sirq_error *err)
{
    struct comparison c = {.both = 0};
    struct sirq_csv_table left, right;
    int rc = sirq_csv_read(&left, a, err);

    if (rc)
        return rc;
    rc = sirq_csv_read(&right, b, err);
    if (!rc) {
        compare(&c, &left, &right);
        print(&c, a, b, out);
        *moved = c.moved + c.only[0] + c.only[1];
        sirq_lab_table_free(&c.table);
        sirq_csv_free(&right);
    }
    sirq_csv_free(&left);
    return rc;
}
