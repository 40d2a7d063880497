// Where: checks a caller's tests of attributes and converts them to the store's (admin.7).

import {
  parseAttribute,
  type AttributeValue,
  type StoredAttribute,
} from "../core/define/attributes.ts";
import { checkFlag, checkMembers, invalidArgument, type Members } from "../core/checks.ts";
import { checkStorable, parseName, showValue } from "../core/ids/ids.ts";
import type { AttributeTest } from "../core/provider/index.ts";
import { defined } from "../core/values/defined.ts";

/**
 * Tests of one attribute; all must hold. A value matches only values of its own type: the text "42" is not the
 * number 42. Texts compare by code points, false comes before true.
 */
export interface AttributeTests {
  readonly eq?: AttributeValue;
  /** Any of these; an empty list matches nothing. */
  readonly in?: readonly AttributeValue[];
  readonly gt?: AttributeValue;
  readonly gte?: AttributeValue;
  readonly lt?: AttributeValue;
  readonly lte?: AttributeValue;
  /** A date before this one. */
  readonly before?: Date;
  /** A date after this one. */
  readonly after?: Date;
  /** The start of a text. */
  readonly prefix?: string;
  /** Whether the instance has the attribute. */
  readonly exists?: boolean;
}
/** Tests of attributes by name. A bare value means `{ eq: value }`. */
export type AttributesWhere = Readonly<Record<string, AttributeValue | AttributeTests>>;

const TESTS: Members<AttributeTests> = {
  eq: true,
  in: true,
  gt: true,
  gte: true,
  lt: true,
  lte: true,
  before: true,
  after: true,
  prefix: true,
  exists: true,
};
const IN_MAX = 1_000;

export function storeWhere(where: unknown): Readonly<Record<string, AttributeTest>> {
  if (typeof where !== "object" || where === null || Array.isArray(where)) {
    throw invalidArgument(`where must be an object of tests; got ${showValue(where)}.`);
  }
  const tests = Object.entries(where).flatMap(([name, test]: [string, unknown]) => {
    parseName(name, "attribute name");
    return test === undefined ? [] : [[name, storeTest(test, `where.${name}`)] as const];
  });
  return Object.fromEntries(tests);
}

function storeTest(given: unknown, what: string): AttributeTest {
  if (typeof given !== "object" || given === null || given instanceof Date) {
    return { eq: parseAttribute(given, what) };
  }
  const tests: AttributeTests = given;
  checkMembers(tests, TESTS, what);
  const { before, after, prefix, exists } = tests;
  checkFlag(exists, `${what}.exists`);
  if (prefix !== undefined) checkText(prefix, `${what}.prefix`);
  const value = (member: "eq" | "gt" | "gte" | "lt" | "lte"): StoredAttribute | undefined => {
    const { [member]: wanted } = tests;
    return wanted === undefined ? undefined : parseAttribute(wanted, `${what}.${member}`);
  };
  const test: AttributeTest = defined({
    eq: value("eq"),
    in: tests.in === undefined ? undefined : listOf(tests.in, `${what}.in`),
    gt: after === undefined ? value("gt") : dateOf(after, "after", tests.gt, what),
    gte: value("gte"),
    lt: before === undefined ? value("lt") : dateOf(before, "before", tests.lt, what),
    lte: value("lte"),
    prefix,
    exists,
  });
  if (Object.keys(test).length > 0) return test;
  throw invalidArgument(`${what} must have at least one test: ${Object.keys(TESTS).join(", ")}.`);
}

function listOf(given: unknown, what: string): readonly StoredAttribute[] {
  if (!Array.isArray(given) || given.length > IN_MAX) {
    const got = Array.isArray(given) ? `${given.length} values` : showValue(given);
    throw invalidArgument(`${what} must be an array of up to ${IN_MAX} values; got ${got}.`);
  }
  return given.map((value: unknown) => parseAttribute(value, what));
}

function dateOf(
  given: unknown,
  member: "before" | "after",
  other: unknown,
  what: string,
): StoredAttribute {
  if (!(given instanceof Date)) {
    throw invalidArgument(`${what}.${member} must be a Date; got ${showValue(given)}.`);
  }
  if (other === undefined) return parseAttribute(given, `${what}.${member}`);
  const same = member === "before" ? "lt" : "gt";
  throw invalidArgument(`${what} must not have both ${member} and ${same}; they mean the same.`);
}

function checkText(given: unknown, what: string): void {
  if (typeof given === "string") return checkStorable(given, what);
  throw invalidArgument(`${what} must be a string; got ${showValue(given)}.`);
}
