// Cuts: going from one value of an index's first columns to the next, however many rows share it.

/**
 * All of them as a table of that name, for use behind WITH RECURSIVE: a walk by one look-up a cut. `carried` are
 * columns that follow from the cut's and are read with it.
 */
export function allCuts(
  name: string,
  options: {
    readonly table: string;
    /** On a row `r`. */
    readonly condition: string;
    readonly columns: readonly string[];
    readonly carried?: readonly string[];
  },
): string {
  const { table, condition, columns, carried = [] } = options;
  const list = (alias: string, names = columns): string =>
    names.map((column) => `${alias}.${column}`).join(", ");
  const all = list("r", [...columns, ...carried]);
  const next = (beyond: string): string => `
    SELECT ${all} FROM ${table} AS r WHERE ${condition} ${beyond} ORDER BY ${list("r")} LIMIT 1`;
  return `
    ${name} AS (
      (${next("")})
      UNION ALL
      SELECT n.* FROM ${name} AS c CROSS JOIN LATERAL (
        ${next(`AND (${list("r")}) > (${list("c")})`)}
      ) AS n)`;
}
