// Translate: turns the text of a shared statement (statement.1) into SQLite's SQL.
//   - Names of tables lose their "@", parameters become `?1`, casts and row locks are removed: SQLite has
//     one writer at a time. A few functions have other names.
//   - `@now` becomes one more parameter, after the others.
//   - A list is JSON text: `unnest` and `= ANY` read it with `json_each`. The index lookups of
//     sql/index-lookup.ts become plain comparisons.

export interface Translation {
  readonly sql: string;
  /** Whether the time of the store is the last parameter. */
  readonly needsNow: boolean;
}

const CAST = /::[a-z]+( precision)?(\[\])?/g;
const ROW_LOCK = /\s+FOR (NO KEY )?UPDATE( OF \w+)?( SKIP LOCKED)?/g;
const LIST = /unnest\((\$\d+)\) AS (\w+) \((\w+)\)/g;
const ONE_OF = /= ANY \((\$\d+)\)/g;
const LOOKUP = /= ANY \(ARRAY\[([^\]]+)\]\)/g;
const WORDS: Readonly<Record<string, string>> = {
  true: "1",
  false: "0",
  "greatest(": "max(",
  "least(": "min(",
  "strpos(": "instr(",
};
const WORD = /\b(true|false|greatest\(|least\(|strpos\()/g;

export function translate(text: string): Translation {
  const last = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const needsNow = /@now\b/.test(text);
  const sql = text
    .replaceAll(CAST, "")
    .replaceAll(ROW_LOCK, "")
    .replaceAll(LIST, "(SELECT value AS $3 FROM json_each($1)) AS $2")
    .replaceAll(ONE_OF, "IN (SELECT value FROM json_each($1))")
    .replaceAll(LOOKUP, "= $1")
    .replaceAll("= ANY (ARRAY(", "IN (SELECT * FROM (")
    .replaceAll(/array_to_json\(([^)]+)\)/g, "$1")
    .replaceAll(WORD, (word) => WORDS[word] ?? word)
    .replaceAll(/@now\b/g, `?${last + 1}`)
    .replaceAll(/@([a-z_]+)/g, "$1")
    .replaceAll(/\$(\d+)/g, "?$1");
  return { sql, needsNow };
}
