// Cuts: going from one value of an index's first columns to the next, however many rows share it.
//   C1. `(a, b) > (?, ?)` would say it, but SQLite then reads every row of the cut it stands on (45 ms for
//       100,000 rows). One look-up a column, the last one first, reads one row.

/** A statement that finds the cut after the one whose values are bound, in the order of the columns. */
export function nextCut(table: string, condition: string, columns: readonly string[]): string {
  const list = columns.join(", ");
  const lookUps = columns.map((column, place) => {
    const same = columns.slice(0, place).map((name, i) => `${name} = ?${i + 1} AND `);
    return `
      SELECT * FROM (
        SELECT ${list} FROM ${table} WHERE ${condition} AND ${same.join("")}${column} > ?${place + 1}
        ORDER BY ${list} LIMIT 1
      )`;
  });
  return `${lookUps.toReversed().join(" UNION ALL ")} LIMIT 1`;
}

/**
 * All of them as a table of that name, for use behind WITH RECURSIVE: a walk a column, from one value to the next
 * by a look-up each. A walk ends in a NULL, which is left out.
 */
export function allCuts(
  name: string,
  table: string,
  condition: string,
  columns: readonly string[],
): string {
  const walks = columns.map((column, place) => {
    const before = columns.slice(0, place);
    const next = (from: string, beyond: string): string => {
      const same = before.map((other) => `AND r.${other} = ${from}.${other}`).join(" ");
      return `(
        SELECT r.${column} FROM ${table} AS r WHERE ${condition} ${same} ${beyond}
        ORDER BY r.${column} LIMIT 1)`;
    };
    const [own, outer] = [`${name}_${place}`, `${name}_${place - 1}`];
    const first = [...before, next(outer, "")].join(", ");
    const from = place === 0 ? "" : `FROM ${outer} WHERE ${columns[place - 1]} IS NOT NULL`;
    const later = [...before, next(own, `AND r.${column} > ${own}.${column}`)].join(", ");
    return `${own} (${columns.slice(0, place + 1).join(", ")}) AS (
      SELECT ${first} ${from} UNION ALL SELECT ${later} FROM ${own} WHERE ${column} IS NOT NULL)`;
  });
  const all = `SELECT * FROM ${name}_${columns.length - 1} WHERE ${columns.at(-1)} IS NOT NULL`;
  return `${walks.join(", ")}, ${name} AS (${all})`;
}
