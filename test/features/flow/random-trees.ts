// Random flows: trees of every kind of node, the behaviour of their functions, and their expected results.
//   The outcome of a function depends only on its path and its input, so a pure evaluation can compute the result.
//   The engine decides which of two parallel failures comes first, so the comparison ignores the details of failures.

import fc from "fast-check";
import { orchestration } from "../../../src/index.ts";
import {
  Flow,
  again,
  done,
  type FlowDefinition,
  type FlowNode,
  type LoopResult,
} from "../../../src/flow/index.ts";

export type Tree =
  | { readonly k: "task"; readonly flaky: boolean; readonly defer: boolean }
  | { readonly k: "fork"; readonly settle: boolean; readonly branches: readonly Level[] }
  | {
      readonly k: "map";
      readonly settle: boolean;
      readonly concurrency: number;
      readonly body: Level;
    }
  | {
      readonly k: "route";
      readonly cases: readonly Level[];
      readonly otherwise: Level | null;
      readonly envelope: boolean;
    }
  | { readonly k: "loop"; readonly max: number; readonly exit: boolean; readonly body: Level }
  | { readonly k: "delay"; readonly ms: number }
  | { readonly k: "wait"; readonly sent: boolean; readonly goesOn: boolean }
  | { readonly k: "call"; readonly body: Level }
  | { readonly k: "child" };
export interface Level {
  /** A catch with this handler around the first `count` nodes. */
  readonly caught: { readonly count: number; readonly handler: readonly Tree[] } | null;
  readonly nodes: readonly Tree[];
}

/** Durations: hours in virtual time, milliseconds in real time. */
export interface Times {
  /** Divisor for the duration of a delay. */
  readonly faster: number;
  readonly waitMs: number;
  readonly backoffMs: number;
  readonly childMs: number;
}
export const VIRTUAL: Times = { faster: 1, waitMs: 3_600_000, backoffMs: 50, childMs: 1_000 };
export const REAL: Times = { faster: 2_000, waitMs: 100, backoffMs: 5, childMs: 5 };

// ── trees ────────────────────────────────────────────────────────────────────────────────────────────────────────

function trees(depth: number): fc.Arbitrary<Tree> {
  const task = fc.record({
    k: fc.constant("task" as const),
    flaky: fc.boolean(),
    defer: fc.boolean(),
  });
  const leaves: fc.Arbitrary<Tree>[] = [
    task,
    fc.record({ k: fc.constant("delay" as const), ms: fc.integer({ min: 0, max: 90_000 }) }),
    fc.record({ k: fc.constant("wait" as const), sent: fc.boolean(), goesOn: fc.boolean() }),
    fc.record({ k: fc.constant("child" as const) }),
  ];
  if (depth === 0) return fc.oneof(task, ...leaves);
  const body = levels(depth - 1);
  return fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    ...leaves,
    fc.record({
      k: fc.constant("fork" as const),
      settle: fc.boolean(),
      branches: fc.array(body, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      k: fc.constant("map" as const),
      settle: fc.boolean(),
      concurrency: fc.integer({ min: 1, max: 3 }),
      body,
    }),
    fc.record({
      k: fc.constant("route" as const),
      cases: fc.array(body, { minLength: 1, maxLength: 3 }),
      otherwise: fc.option(body),
      envelope: fc.boolean(),
    }),
    fc.record({
      k: fc.constant("loop" as const),
      max: fc.integer({ min: 1, max: 4 }),
      exit: fc.boolean(),
      body,
    }),
    fc.record({ k: fc.constant("call" as const), body }),
  );
}

function levels(depth: number): fc.Arbitrary<Level> {
  const nodes = fc.array(trees(depth), { minLength: 1, maxLength: 3 });
  const handler = fc.array(trees(0), { maxLength: 2 });
  const caught = fc.option(fc.record({ count: fc.integer({ min: 1, max: 3 }), handler }), {
    freq: 3,
  });
  return fc.record({ caught, nodes });
}

export interface RandomFlow {
  readonly level: Level;
  readonly input: number;
  readonly compactAfter: number | null;
}
/** Random flows with up to four nested levels. */
export const randomFlows: fc.Arbitrary<RandomFlow> = fc.record({
  level: levels(3),
  input: fc.integer({ min: 0, max: 99 }),
  compactAfter: fc.option(fc.integer({ min: 10, max: 40 })),
});

// ── definitions ──────────────────────────────────────────────────────────────────────────────────────────────────

/** The definition of a tree. Nodes are numbered, and the body of a loop ends in a step with the id "end". */
function definitionOf(
  name: string,
  { level, compactAfter }: RandomFlow,
  times: Times,
): FlowDefinition {
  const compact = compactAfter === null ? {} : { compactAfter };
  return { format: 1, name, version: "1.0.0", ...compact, nodes: nodesOf(level, false, times) };
}

function nodesOf({ caught, nodes }: Level, isLoop: boolean, times: Times): FlowNode[] {
  const made = nodes.map((tree, index) => nodeOf(tree, `n${index}`, times));
  const watched = caught === null ? [] : made.splice(0, Math.min(caught.count, made.length));
  const handler = caught?.handler.map((tree, index) => nodeOf(tree, `h${index}`, times)) ?? [];
  const first: FlowNode[] =
    watched.length === 0 ? [] : [{ kind: "catch", id: "catch", nodes: watched, handler }];
  return [...first, ...made, ...(isLoop ? [{ kind: "task" as const, id: "end" }] : [])];
}

function nodeOf(tree: Tree, id: string, times: Times): FlowNode {
  const key = (index: number): string => `k${index}`;
  const keyed = (list: readonly Level[]) =>
    list.map((level, index) => ({ key: key(index), nodes: nodesOf(level, false, times) }));
  switch (tree.k) {
    case "task":
      return {
        kind: "task",
        id: tree.flaky ? `${id}-flaky` : id,
        ...(tree.flaky ? { options: { retry: retryOf(times.backoffMs) } } : {}),
        ...(tree.defer ? { defer: {} } : {}),
      };
    case "fork":
      return {
        kind: "fork",
        id,
        branches: keyed(tree.branches),
        ...(tree.settle ? { onError: "settle" } : {}),
      };
    case "map":
      return {
        kind: "map",
        id,
        items: {},
        concurrency: tree.concurrency,
        ...(tree.settle ? { onError: "settle" } : {}),
        nodes: nodesOf(tree.body, false, times),
      };
    case "route":
      return {
        kind: "route",
        id,
        key: {},
        cases: keyed(tree.cases),
        ...(tree.otherwise === null ? {} : { otherwise: nodesOf(tree.otherwise, false, times) }),
        ...(tree.envelope ? { envelope: true } : {}),
      };
    case "loop":
      return {
        kind: "loop",
        id,
        maxIterations: tree.max,
        onMax: tree.exit ? "exitWithLast" : "fail",
        nodes: nodesOf(tree.body, true, times),
      };
    case "delay":
      return { kind: "delay", id, delayMs: Math.ceil(tree.ms / times.faster) };
    case "wait":
      return {
        kind: "wait",
        id,
        signal: tree.sent ? "sent" : "silent",
        timeoutMs: times.waitMs,
        ...(tree.goesOn ? { onTimeout: "continue" } : {}),
      };
    case "call":
      return { kind: "call", id, flow: "inner", nodes: nodesOf(tree.body, false, times) };
    case "child":
      return { kind: "child", id, orchestration: "child" };
  }
}

function retryOf(baseMs: number) {
  return {
    maxAttempts: 3,
    backoff: { kind: "fixed", baseMs, factor: 2, maxMs: baseMs, jitter: 0 },
    onTimeout: true,
    nonRetryable: [],
  } as const;
}

/** The flow of a random tree, with the functions that it needs. */
export function flowOf(name: string, random: RandomFlow, times: Times): Flow<unknown, unknown> {
  const definition = definitionOf(name, random, times);
  const paths = missingIn(definition);
  return Flow.fromDefinition(
    definition,
    Object.fromEntries(paths.map((path) => [path, functionAt(path)])),
  );
}

/** The paths of the functions that `fromDefinition` reports as missing. */
function missingIn(definition: FlowDefinition): string[] {
  try {
    Flow.fromDefinition(definition, {});
    return [];
  } catch (error) {
    const found = String(error).matchAll(/no function given for "([^"]+)"/g);
    return [...found].map(([, path]) => path ?? "");
  }
}

function functionAt(path: string): (input: never, ctx: { readonly attempt: number }) => unknown {
  return (input, { attempt }) => {
    // The first attempt of a flaky step always fails.
    if (path.endsWith("-flaky") && attempt === 1) throw new Error("flaky");
    return behave(path, input);
  };
}

// ── behaviour ────────────────────────────────────────────────────────────────────────────────────────────────────

/** The payload of every signal that is sent. */
export const PAYLOAD = 77;

/** A hash of a value that ignores the details of failures. */
export function digest(value: unknown): number {
  let hash = 7;
  for (const character of JSON.stringify(plain(value)))
    hash = (hash * 31 + character.charCodeAt(0)) % 1_000_003;
  return hash;
}

/** A value without the parts that depend on the order of parallel failures. */
export function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, member: unknown) =>
      key === "failure" ? "failed" : key === "node" ? undefined : member,
    ),
  ) as unknown;
}

/** The result of the function at a path of the definition for an input. Throws if the function fails. */
function behave(path: string, input: unknown): unknown {
  const hash = digest([path, input]);
  if (path.endsWith(".defer")) return "undone";
  if (path.endsWith(".items")) return Array.from({ length: hash % 4 }, (_, index) => hash + index);
  if (path.endsWith(".key")) return `k${hash % 4}`;
  if (path.endsWith("/end")) return hash % 3 === 0 ? done(hash % 100) : again(hash % 100);
  if (hash % 9 === 0) throw new Error(`${path} fails`);
  return hash % 2 === 0 ? hash % 100 : { v: hash % 100 };
}

export function childOf({ childMs }: Times) {
  return orchestration("child", async (ctx, input: unknown) => {
    await ctx.sleep(childMs);
    return behaveAsChild(input);
  });
}
function behaveAsChild(input: unknown): unknown {
  const hash = digest(["child", input]);
  if (hash % 7 === 0) throw new Error("the child fails");
  return hash % 50;
}

// ── the reference ────────────────────────────────────────────────────────────────────────────────────────────────

export type Outcome = { readonly value: unknown } | "failed";

/** The expected outcome of a flow, and the maximum number of signals it takes. Failed branches may take fewer. */
export function reference(
  nodes: readonly FlowNode[],
  input: unknown,
): { readonly outcome: Outcome; readonly signals: number } {
  let signals = 0;
  const outcome = settle(() => level(nodes, input, ""));
  return { outcome: outcome === "failed" ? outcome : { value: plain(outcome.value) }, signals };

  function level(list: readonly FlowNode[], value: unknown, prefix: string): unknown {
    return list.reduce((current, node) => nodeValue(node, current, prefix), value);
  }

  function nodeValue(node: FlowNode, value: unknown, prefix: string): unknown {
    const path = prefix + node.id;
    switch (node.kind) {
      case "task":
        return behave(path, value);
      case "child":
        return behaveAsChild(value);
      case "delay":
        return value;
      case "wait":
        if (node.signal === "sent") return (signals++, PAYLOAD);
        if (node.onTimeout === "continue") return null;
        throw new Error("timed out");
      case "call":
        return level(node.nodes, value, `${path}/`);
      case "fork": {
        const bodies = node.branches.map(
          ({ key, nodes: below }) =>
            () =>
              level(below, value, `${path}.${key}/`),
        );
        const values = parallel(bodies, node.onError === "settle");
        return Object.fromEntries(node.branches.map(({ key }, index) => [key, values[index]]));
      }
      case "map": {
        const items = behave(`${path}.items`, value) as unknown[];
        const bodies = items.map((item) => () => level(node.nodes, item, `${path}/`));
        return parallel(bodies, node.onError === "settle");
      }
      case "route": {
        const branch = behave(`${path}.key`, value) as string;
        const found = node.cases.find(({ key }) => key === branch);
        const below = found?.nodes ?? node.otherwise;
        if (below === undefined) throw new Error("no case");
        const key = found === undefined ? "otherwise" : branch;
        const result = level(below, value, `${path}.${key}/`);
        return node.envelope === true ? { branch, result } : result;
      }
      case "loop":
        for (let round = 1, next = value; ; round++) {
          const ended = level(node.nodes, next, `${path}/`) as LoopResult;
          next = ended.value;
          if (ended.loop === "done") return next;
          if (round < node.maxIterations) continue;
          if (node.onMax === "exitWithLast") return next;
          throw new Error("not done");
        }
      case "catch": {
        const watched = settle(() => level(node.nodes, value, prefix));
        if (watched !== "failed") return watched.value;
        return level(node.handler, { failure: "failed", input: value }, `${path}/`);
      }
    }
  }
}

function parallel(bodies: readonly (() => unknown)[], settles: boolean): unknown[] {
  const outcomes = bodies.map(settle);
  if (settles) {
    return outcomes.map((each) =>
      each === "failed" ? { ok: false, failure: "failed" } : { ok: true, value: each.value },
    );
  }
  if (outcomes.includes("failed")) throw new Error("a branch failed");
  return outcomes.map((each) => (each === "failed" ? null : each.value));
}

function settle(run: () => unknown): Outcome {
  try {
    return { value: run() };
  } catch {
    return "failed";
  }
}
