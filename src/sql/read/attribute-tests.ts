// Attribute tests: the test of an attribute as SQL conditions on rows of the table of attributes.
//   - The table has one index for texts and one for other values, so a test becomes one condition per type that
//       can match (admin.7). Every condition is a range of one index.
//   - attribute-tests.1: Texts are stored in two parts (0020-search.1). The first part alone decides a comparison with
//       a text that is shorter than this part.

import type { StoredAttribute } from "../../core/define/attributes.ts";
import type { AttributeTest, InstanceFilter } from "../../core/provider/admin.ts";
import { firstAfter } from "../../core/provider/shared/id-prefix.ts";
import { exists, notExists } from "../index-lookup.ts";
import type { Bind } from "../script/parameters.ts";

/** How many characters of a text are in its first part. */
const FIRST_PART = 200;

type Type = "text" | "number" | "boolean" | "date";
const TYPES: readonly Type[] = ["text", "number", "boolean", "date"];

/** The tests of a filter, by name. A name can have several. */
export function testsOf({
  attributes = {},
  where = {},
}: InstanceFilter): readonly (readonly [name: string, test: AttributeTest])[] {
  const equal = Object.entries(attributes).map(([name, eq]) => [name, { eq }] as const);
  return [...equal, ...Object.entries(where)];
}

/** The condition on an instance `i`. */
export function attributeCondition(name: string, test: AttributeTest, bind: Bind): string {
  const branches = testBranches(test, bind);
  const isAbsent = test.exists === false && comparesOf(test).length === 0;
  if (branches.length === 0 && !isAbsent) return "false";
  // Without the expression, PostgreSQL may read a range of values for each instance, through the index of values.
  const from = `FROM @attributes AS a WHERE a.instance = i.key AND a.name || '' = ${bind(name)}::text`;
  if (isAbsent) return notExists(from);
  return exists(`${from} AND (${branches.map((branch) => `(${branch})`).join(" OR ")})`);
}

/** Conditions on a row `a` of the name; it matches if one of them holds. `exists: false` has none. */
export function testBranches(test: AttributeTest, bind: Bind): readonly string[] {
  if (test.exists === false) return [];
  const compares = comparesOf(test);
  if (compares.length === 0) return ["a.text IS NOT NULL", "a.number IS NOT NULL"];
  const types = TYPES.filter((type) => compares.every(({ values }) => values.some(is(type))));
  return types.map((type) => {
    const conditions = compares.map(({ operator, values }) =>
      compared(operator, values.filter(is(type)), bind),
    );
    const all = conditions.join(" AND ");
    return type === "text"
      ? `a.text IS NOT NULL AND ${all}`
      : `a.type = '${type}' AND a.number IS NOT NULL AND ${all}`;
  });
}

/** Whether all values that match are equal. An index then has their rows in the order of a list. */
export function isOneValue(test: AttributeTest): boolean {
  return test.eq !== undefined;
}

type Operator = "=" | ">" | ">=" | "<" | "<=" | "in" | "prefix";
interface Compare {
  readonly operator: Operator;
  readonly values: readonly StoredAttribute[];
}

function comparesOf(test: AttributeTest): readonly Compare[] {
  const { eq, gt, gte, lt, lte, prefix } = test;
  const single = (
    [
      ["=", eq],
      [">", gt],
      [">=", gte],
      ["<", lt],
      ["<=", lte],
      ["prefix", prefix],
    ] as const
  ).flatMap(([operator, value]): Compare[] =>
    value === undefined ? [] : [{ operator, values: [value] }],
  );
  return test.in === undefined ? single : [...single, { operator: "in", values: test.in }];
}

function compared(operator: Operator, values: readonly StoredAttribute[], bind: Bind): string {
  const texts = values.filter((value) => typeof value === "string");
  if (texts.length > 0) return comparedText(operator, texts, bind);
  const numbers = values.flatMap((value) => (typeof value === "string" ? [] : [numberOf(value)]));
  const [number = 0] = numbers;
  return operator === "in"
    ? `a.number = ANY (${bind(numbers)}::double precision[])`
    : `a.number ${operator} ${bind(number)}::double precision`;
}

function comparedText(operator: Operator, texts: readonly string[], bind: Bind): string {
  const [text = ""] = texts;
  if (operator === "in") {
    const short = texts.filter((each) => restOf(each) === null);
    const long = texts.filter((each) => restOf(each) !== null);
    const any = [
      ...(short.length === 0 ? [] : [`a.text = ANY (${bind(short)}::text[])`]),
      ...long.map((each) => comparedText("=", [each], bind)),
    ];
    return `(${any.join(" OR ")})`;
  }
  if (operator === "prefix") {
    const after = firstAfter(text);
    const from = comparedText(">=", [text], bind);
    return after === null ? from : `${from} AND ${comparedText("<", [after], bind)}`;
  }
  const rest = restOf(text);
  if (rest === null) return `a.text ${operator} ${bind(text)}::text`; // attribute-tests.1
  const first = `${bind([...text].slice(0, FIRST_PART).join(""))}::text`;
  if (operator === "=") return `a.text = ${first} AND coalesce(a.rest, '') = ${bind(rest)}::text`;
  const weaker = operator.startsWith(">") ? ">=" : "<=";
  const whole = "(a.text || coalesce(a.rest, ''))";
  return `a.text ${weaker} ${first} AND ${whole} ${operator} ${bind(text)}::text`;
}

/** The characters after the first part; null: the first part decides (attribute-tests.1). */
function restOf(text: string): string | null {
  if (text.length < FIRST_PART) return null;
  const points = [...text];
  return points.length < FIRST_PART ? null : points.slice(FIRST_PART).join("");
}

function is(type: Type): (value: StoredAttribute) => boolean {
  return (value) => typeOf(value) === type;
}

function typeOf(value: StoredAttribute): Type {
  if (typeof value === "object") return "date";
  if (typeof value === "string") return "text";
  return typeof value === "number" ? "number" : "boolean";
}

function numberOf(value: Exclude<StoredAttribute, string>): number {
  return typeof value === "object" ? value.date : Number(value);
}

/** Conditions on a row `a`: a text, and a number if there is one, that is written exactly like the text (admin.8). */
export function writtenLike(
  text: string,
  bind: Bind,
): readonly [likeText: string, likeNumber?: string] {
  const number = Number(text);
  const isNumber = Number.isFinite(number) && String(number) === text;
  const likeText = `a.text IS NOT NULL AND ${comparedText("=", [text], bind)}`;
  if (!isNumber) return [likeText];
  const same = `a.number = ${bind(number)}::double precision`;
  return [likeText, `a.type = 'number' AND a.number IS NOT NULL AND ${same}`];
}
