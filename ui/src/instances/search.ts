// The search box: words are found in ids, names and attributes; `name=value` tests an attribute.
//   - Attributes have types, and a text does not show which one is meant: `cents=42` finds the number and the text.
//   - Quotes make a word or a value of anything: `"a=b"`, `customer="Ada L."`.

/** The tests of attributes in the form of the server's API. */
export type Where = Readonly<Record<string, object>>;

export interface Search {
  readonly text?: string;
  readonly where?: Where;
}

const PART = /([^\s"=<>]+)(>=|<=|=|>|<)("[^"]*"|\S+)|"([^"]*)"|(\S+)/g;
const TESTS: Readonly<Record<string, string>> = { ">": "gt", ">=": "gte", "<": "lt", "<=": "lte" };
const NUMBER = /^-?\d+(\.\d+)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2})?)?$/;

export function searchOf(given: string): Search {
  const words: string[] = [];
  const where: Record<string, object> = {};
  for (const [, name, operator = "", value = "", quoted, word] of given.matchAll(PART)) {
    if (name === undefined) words.push(quoted ?? word ?? "");
    else where[name] = { ...where[name], ...testOf(operator, value) };
  }
  const text = words.join(" ").trim();
  return {
    ...(text === "" ? {} : { text }),
    ...(Object.keys(where).length === 0 ? {} : { where }),
  };
}

function testOf(operator: string, given: string): object {
  const isQuoted = given.startsWith('"');
  const text = isQuoted ? given.replaceAll('"', "") : given;
  const test = TESTS[operator];
  if (test !== undefined) return { [test]: isQuoted ? text : (valuesOf(text).at(-1) ?? text) };
  if (isQuoted) return { eq: text };
  if (text === "*") return { exists: true };
  return text.endsWith("*") ? { prefix: text.slice(0, -1) } : { in: valuesOf(text) };
}

/** The values of every type that the text can mean. The text itself is the first. */
function valuesOf(text: string): readonly unknown[] {
  return [
    text,
    ...(NUMBER.test(text) ? [Number(text)] : []),
    ...(text === "true" || text === "false" ? [text === "true"] : []),
    ...(DATE.test(text) && !Number.isNaN(Date.parse(text))
      ? [{ date: new Date(text).toISOString() }]
      : []),
  ];
}
