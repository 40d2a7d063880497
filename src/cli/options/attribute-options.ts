// Attributes and tests of attributes on the command line.
//   - `--attribute name=value` is a text; `--attribute name:=value` is a number, true, false or a date.
//   - `--where` takes `name`, `!name`, or a name, an operator and a value. A value in quotes is a text; otherwise a
//        number, true, false or a date is one, and anything else is a text.

import type { AttributesWhere, AttributeTests } from "../../client/attribute-where.ts";
import type { AttributeValue } from "../../core/define/attributes.ts";
import { CliError } from "../exit-codes.ts";

const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;
const TEST = /^([^=<>^!]+?)\s*(\^=|>=|<=|=|>|<)\s*(.*)$/s;
const OPERATORS = {
  "=": "eq",
  ">": "gt",
  ">=": "gte",
  "<": "lt",
  "<=": "lte",
  "^=": "prefix",
} as const satisfies Readonly<Record<string, keyof AttributeTests>>;

export function parseAttributeOptions(pairs: readonly string[]): Record<string, AttributeValue> {
  const entries = pairs.map((pair): [string, AttributeValue] => {
    const at = pair.indexOf("=");
    if (at < 1 || pair.startsWith(":=")) {
      const got = JSON.stringify(pair);
      throw new CliError("USAGE", `--attribute must be name=value or name:=value; got ${got}.`);
    }
    const value = pair.slice(at + 1);
    if (pair[at - 1] !== ":") return [pair.slice(0, at), value];
    const typed = typedValue(value);
    if (typeof typed !== "string") return [pair.slice(0, at - 1), typed];
    const message = `The value after := must be a number, true, false or a date; got ${JSON.stringify(value)}.`;
    throw new CliError("USAGE", message);
  });
  return Object.fromEntries(entries);
}

/** Several tests of one name must all hold. */
export function parseWhere(tests: readonly string[]): AttributesWhere {
  const where = new Map<string, AttributeTests>();
  for (const text of tests) {
    const [name, test] = parseTest(text.trim());
    const known = where.get(name) ?? {};
    const [member] = Object.keys(test);
    if (member !== undefined && Object.hasOwn(known, member)) {
      throw new CliError("USAGE", `--where tests "${name}" twice in the same way.`);
    }
    where.set(name, { ...known, ...test });
  }
  return Object.fromEntries(where);
}

function parseTest(text: string): readonly [name: string, test: AttributeTests] {
  const [, name, operator, given] = TEST.exec(text) ?? [];
  if (name !== undefined && given !== undefined && isOperator(operator)) {
    if (operator === "^=") return [name, { prefix: unquoted(given) ?? given }];
    return [name, { [OPERATORS[operator]]: unquoted(given) ?? typedValue(given) }];
  }
  const isAbsent = text.startsWith("!");
  const bare = isAbsent ? text.slice(1) : text;
  if (bare !== "" && !/[=<>^!]/.test(bare)) return [bare, { exists: !isAbsent }];
  const got = JSON.stringify(text);
  const forms = "name, !name, or name, an operator (=, >, >=, <, <=, ^=) and a value";
  throw new CliError("USAGE", `--where must be ${forms}; got ${got}.`);
}

function isOperator(text: string | undefined): text is keyof typeof OPERATORS {
  return text !== undefined && Object.hasOwn(OPERATORS, text);
}

/** The text between double quotes; null: there are none. */
function unquoted(given: string): string | null {
  return given.length >= 2 && given.startsWith('"') && given.endsWith('"')
    ? given.slice(1, -1)
    : null;
}

function typedValue(text: string): AttributeValue {
  if (text === "true" || text === "false") return text === "true";
  if (text !== "" && text.trim() === text && Number.isFinite(Number(text))) return Number(text);
  if (!DATE.test(text)) return text;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date;
}
