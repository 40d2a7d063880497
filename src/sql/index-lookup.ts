// Index lookup: SQL conditions that PostgreSQL can only execute as an index lookup per row.
//   - PostgreSQL plans a prepared statement once. A plan made while a table was empty may scan the whole
//     table for each joined row. That is cheapest for an empty table and very slow once it has grown, until
//     the next ANALYZE. A queue is empty again and again.
//   - `a = b` lets the planner choose the side to look up. `a = ANY (ARRAY[b])` does not: it supports
//     neither a merge join nor a hash join, only a lookup of `a` for a known `b`. Use it for every column
//     that is the first of an index. (enable_seqscan is off as well, connection/settings.ts.)
//   - index-lookup.1: PostgreSQL may scan a partial index completely if its condition is in the statement,
//     and any index that has the requested order. There, the lookup must be a subquery that the planner
//     does not flatten: LATERAL with LIMIT or OFFSET 0, or `exists`; and an order must be by `key + 0`.
//   - index-lookup.2: The same holds for a column that is compared with a constant, if many rows have that
//     value, and for EXISTS: PostgreSQL may read all rows once and look them up in a hash table.
//   - As a result, rows are also locked in the order of the request.

/** SQL condition: the indexed column equals the value, which is a column of another table. */
export function indexEquals(column: string, value: string): string {
  return `${column} = ANY (ARRAY[${value}])`;
}

/** SQL condition: a matching row exists. It is looked up for each row of the outer statement. */
export function exists(fromAndWhere: string): string {
  return `(SELECT true ${fromAndWhere} LIMIT 1) IS TRUE`;
}

/** SQL condition: no matching row exists. It is looked up for each row of the outer statement. */
export function notExists(fromAndWhere: string): string {
  return `(SELECT true ${fromAndWhere} LIMIT 1) IS NULL`;
}
