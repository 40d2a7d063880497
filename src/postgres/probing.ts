// Probing: joins that are done by looking up, row by row, in an index, and in no other way.
//   PB1. A plan is made once and stays. Made while a table was empty, it may walk the whole table for every row that it
//        is joined to, which is cheapest then; when the table has grown it is ruinous, until somebody gathers
//        statistics. A queue is empty again and again.
//   PB2. `a = b` lets the planner choose who is looked up; `a = ANY (ARRAY[b])` does not: it can neither be merged nor
//        hashed, and serves only to find `a` for a `b` that is known. It stands for every column that is the first of
//        an index. (enable_seqscan is off besides, settings.ts.)
//   PB3. An index of some rows only is walked as a whole where its condition is in the statement, and so is one that
//        gives the order asked for. There the look-up is a query of its own: LATERAL with LIMIT or OFFSET 0, or
//        `some`, none of which the planner takes apart; and an order is of `key + 0`.
//   PB4. So rows are also locked in the order in which they are asked for.

/** SQL of the condition that an indexed column has this value; the value is another table's. */
export function probe(column: string, value: string): string {
  return `${column} = ANY (ARRAY[${value}])`;
}

/** SQL of the condition that there is a row, looked for anew for every row of the statement around it. */
export function some(fromAndWhere: string): string {
  return `(SELECT true ${fromAndWhere} LIMIT 1) IS TRUE`;
}

export function none(fromAndWhere: string): string {
  return `(SELECT true ${fromAndWhere} LIMIT 1) IS NULL`;
}
