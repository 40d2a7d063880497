// Loose index scan: visits each distinct value of an index's first columns once, however many rows share
// it.

/**
 * SQL of a table `name` with the distinct values, for use after WITH RECURSIVE. It costs one lookup per
 * value. `carried` are columns that depend on the others and are read with them.
 */
export function looseIndexScan(
  name: string,
  options: {
    readonly table: string;
    /** SQL condition on a row `r`. */
    readonly condition: string;
    readonly columns: readonly string[];
    readonly carried?: readonly string[];
  },
): string {
  const { table, condition, columns, carried = [] } = options;
  const list = (alias: string, names = columns): string =>
    names.map((column) => `${alias}.${column}`).join(", ");
  const all = list("r", [...columns, ...carried]);
  const next = (after: string): string => `
    SELECT ${all} FROM ${table} AS r WHERE ${condition} ${after} ORDER BY ${list("r")} LIMIT 1`;
  return `
    ${name} AS (
      (${next("")})
      UNION ALL
      SELECT n.* FROM ${name} AS c CROSS JOIN LATERAL (
        ${next(`AND (${list("r")}) > (${list("c")})`)}
      ) AS n)`;
}
