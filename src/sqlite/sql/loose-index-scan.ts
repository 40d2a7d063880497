// Loose index scan: visits each distinct value of an index's first columns once, however many rows share
// it.
//   - loose-index-scan.1: `(a, b) > (?, ?)` would be simpler, but with it SQLite reads every row that
//     shares the current value (45 ms for 100,000 rows). One lookup per column, the last column first,
//     reads one row.

/** A statement that finds the value after the bound one. Bind one parameter per column, in their order. */
export function nextDistinctRow(
  table: string,
  condition: string,
  columns: readonly string[],
): string {
  const list = columns.join(", ");
  const lookUps = columns.map((column, index) => {
    const same = columns.slice(0, index).map((name, i) => `${name} = ?${i + 1} AND `);
    return `
      SELECT * FROM (
        SELECT ${list} FROM ${table} WHERE ${condition} AND ${same.join("")}${column} > ?${index + 1}
        ORDER BY ${list} LIMIT 1
      )`;
  });
  return `${lookUps.toReversed().join(" UNION ALL ")} LIMIT 1`;
}

/**
 * SQL of a table `name` with the distinct values, for use after WITH RECURSIVE. It walks the values of one
 * column after the other, with one lookup per value. A walk ends with a NULL, which the result leaves out.
 */
export function looseIndexScan(
  name: string,
  table: string,
  condition: string,
  columns: readonly string[],
): string {
  const walks = columns.map((column, index) => {
    const before = columns.slice(0, index);
    const next = (from: string, after: string): string => {
      const same = before.map((other) => `AND r.${other} = ${from}.${other}`).join(" ");
      return `(
        SELECT r.${column} FROM ${table} AS r WHERE ${condition} ${same} ${after}
        ORDER BY r.${column} LIMIT 1)`;
    };
    const [own, outer] = [`${name}_${index}`, `${name}_${index - 1}`];
    const first = [...before, next(outer, "")].join(", ");
    const from = index === 0 ? "" : `FROM ${outer} WHERE ${columns[index - 1]} IS NOT NULL`;
    const later = [...before, next(own, `AND r.${column} > ${own}.${column}`)].join(", ");
    return `${own} (${columns.slice(0, index + 1).join(", ")}) AS (
      SELECT ${first} ${from} UNION ALL SELECT ${later} FROM ${own} WHERE ${column} IS NOT NULL)`;
  });
  const all = `SELECT * FROM ${name}_${columns.length - 1} WHERE ${columns.at(-1)} IS NOT NULL`;
  return `${walks.join(", ")}, ${name} AS (${all})`;
}
