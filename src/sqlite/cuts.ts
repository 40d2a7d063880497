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
 * All of them as one table, for use behind WITH RECURSIVE: a walk a column, each from one value to the next. A
 * walk's last row is NULL and is left out by the next one.
 */
export function allCuts(
  name: string,
  table: string,
  condition: string,
  columns: readonly string[],
): string {
  const walk = (place: number): string => `${name}_${place}`;
  const walks = columns.map((column, place) => {
    const before = columns.slice(0, place);
    const next = (from: string, beyond: string): string => `(
      SELECT rows.${column} FROM ${table} AS rows
      WHERE ${condition} ${before.map((same) => `AND rows.${same} = ${from}.${same} `).join("")}
        ${beyond} ORDER BY rows.${column} LIMIT 1)`;
    const own = walk(place);
    const outer = walk(place - 1);
    const kept = (from: string): string => before.map((same) => `${from}.${same}, `).join("");
    const first =
      place === 0
        ? `SELECT ${next("", "")}`
        : `SELECT ${kept(outer)}${next(outer, "")} FROM ${outer} WHERE ${columns[place - 1]} IS NOT NULL`;
    return `${own} (${columns.slice(0, place + 1).join(", ")}) AS (
      ${first}
      UNION ALL
      SELECT ${kept(own)}${next(own, `AND rows.${column} > ${own}.${column}`)}
      FROM ${own} WHERE ${own}.${column} IS NOT NULL
    )`;
  });
  const last = columns.at(-1);
  const all = `SELECT * FROM ${walk(columns.length - 1)} WHERE ${last} IS NOT NULL`;
  return [...walks, `${name} AS (${all})`].join(", ");
}
