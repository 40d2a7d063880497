// The parser for definitions from outside the process: checks every member before the definition is used.
//   - It accepts what definition.schema.json accepts. An unknown member raises an error instead of being
//        ignored.

import { invalidArgument } from "../../core/checks.ts";
import { BACKOFF_KINDS } from "../../core/define/retry-policy.ts";
import { DEFINITION_FORMAT, type FlowDefinition } from "./definition.ts";
import { isJson } from "./json.ts";
import { LEVELS_MAX, TOO_DEEP } from "./paths.ts";

type Check = (value: unknown, where: string, problems: string[]) => void;
interface Members {
  readonly required: Readonly<Record<string, Check>>;
  readonly optional?: Readonly<Record<string, Check>>;
}

function must(isValid: (value: unknown) => boolean, what: string): Check {
  return (value, where, problems) => {
    if (!isValid(value)) problems.push(`${where} must be ${what}`);
  };
}

const text = must((value) => typeof value === "string", "a string");
const number = must((value) => typeof value === "number", "a number");
const flag = must((value) => typeof value === "boolean", "true or false");
const json = must((value) => isJson(value), "plain JSON");
const milliseconds = must(
  (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0,
  "a whole number of milliseconds",
);
function within(min: number, max: number, isWhole = false): Check {
  const isInside = (value: unknown): boolean =>
    typeof value === "number" && value >= min && value <= max;
  return must(
    (value) => isInside(value) && (!isWhole || Number.isSafeInteger(value)),
    `a ${isWhole ? "whole " : ""}number from ${min} to ${max}`,
  );
}
function oneOf(...known: readonly unknown[]): Check {
  const list = known.map((each) => JSON.stringify(each)).join(" or ");
  return must((value) => known.includes(value), list);
}

function list(check: Check): Check {
  return (value, where, problems) => {
    if (!Array.isArray(value)) problems.push(`${where} must be an array`);
    else
      for (const [index, member] of value.entries()) check(member, `${where}[${index}]`, problems);
  };
}

function object({ required, optional = {} }: Members): Check {
  return (value, where, problems) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      problems.push(`${where} must be an object`);
      return;
    }
    const given = value as Readonly<Record<string, unknown>>;
    for (const [name, check] of Object.entries(required)) {
      if (!Object.hasOwn(given, name)) problems.push(`${where}.${name} is missing`);
      else check(given[name], `${where}.${name}`, problems);
    }
    for (const [name, member] of Object.entries(given)) {
      if (Object.hasOwn(required, name)) continue;
      const check = Object.hasOwn(optional, name) ? optional[name] : undefined;
      if (check === undefined) problems.push(`${where}.${name} is unknown`);
      else check(member, `${where}.${name}`, problems);
    }
  };
}

const retry = object({
  required: {
    maxAttempts: within(1, 2_147_483_647, true),
    backoff: object({
      required: {
        kind: oneOf(...BACKOFF_KINDS),
        baseMs: milliseconds,
        factor: within(1, Number.MAX_VALUE),
        maxMs: milliseconds,
        jitter: within(0, 1),
      },
    }),
    onTimeout: flag,
    nonRetryable: list(text),
  },
});
const priority = oneOf(1, 2, 3, 4, 5);
const options = object({
  required: {},
  optional: {
    retry,
    timeoutMs: milliseconds,
    scheduleToCloseMs: milliseconds,
    heartbeatTimeoutMs: milliseconds,
    session: text,
    tags: list(text),
    priority,
  },
});
const workMembers = {
  activity: text,
  options,
  version: text,
  description: text,
  metadata: json,
} as const;
const work = object({ required: {}, optional: workMembers });
const nodes: Check = (value, where, problems) => list(node)(value, where, problems);
const keyed = object({ required: { key: text, nodes } });
const kind: Check = () => undefined; // `node` below has already compared it.
const head = { kind, id: text } as const;

const NODES: Readonly<Record<string, Check>> = {
  task: object({ required: head, optional: { ...workMembers, defer: work } }),
  fork: object({
    required: { ...head, branches: list(keyed) },
    optional: { onError: oneOf("settle") },
  }),
  map: object({
    required: { ...head, items: work, concurrency: number, nodes },
    optional: { onError: oneOf("settle") },
  }),
  route: object({
    required: { ...head, key: work, cases: list(keyed) },
    optional: { otherwise: nodes, envelope: oneOf(true) },
  }),
  loop: object({
    required: { ...head, maxIterations: number, onMax: oneOf("fail", "exitWithLast"), nodes },
  }),
  delay: object({ required: { ...head, delayMs: milliseconds } }),
  wait: object({
    required: { ...head, signal: text },
    optional: { timeoutMs: milliseconds, onTimeout: oneOf("continue") },
  }),
  call: object({ required: { ...head, flow: text, nodes }, optional: { defer: work } }),
  child: object({
    required: { ...head, orchestration: text },
    optional: { version: text, onParentClose: oneOf("abandon"), priority, defer: work },
  }),
  catch: object({ required: { ...head, nodes, handler: nodes } }),
};

function node(value: unknown, where: string, problems: string[]): void {
  const given =
    typeof value === "object" && value !== null && "kind" in value ? value.kind : undefined;
  const check = typeof given === "string" && Object.hasOwn(NODES, given) ? NODES[given] : undefined;
  if (check === undefined)
    problems.push(`${where}.kind must be one of ${Object.keys(NODES).join(", ")}`);
  else check(value, where, problems);
}

const definition = object({
  required: { format: oneOf(DEFINITION_FORMAT), name: text, version: text, nodes },
  optional: { description: text, metadata: json, compactAfter: number },
});

/**
 * The maximum depth of nested members. One level of a flow is up to four members deep. Also ends the walk
 * on a cycle.
 */
const MEMBERS_DEEP_MAX = 4 * LEVELS_MAX + 100;

function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MEMBERS_DEEP_MAX) return true;
    const inner = new Set<unknown>();
    for (const member of level) {
      if (typeof member !== "object" || member === null) continue;
      for (const next of Object.values(member)) inner.add(next);
    }
    level = [...inner];
  }
  return false;
}

/**
 * Returns a copy of the value as a definition. Throws one INVALID_ARGUMENT error that lists every problem.
 */
export function parseDefinition(value: unknown): FlowDefinition {
  const problems: string[] = [];
  if (isTooDeep(value)) problems.push(TOO_DEEP);
  else definition(value, "definition", problems);
  if (problems.length > 0) {
    throw invalidArgument(`Not a valid flow definition: ${problems.join("; ")}.`);
  }
  return structuredClone(value) as FlowDefinition; // Every member was checked above.
}
