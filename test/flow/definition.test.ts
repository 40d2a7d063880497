// A flow as data: its definition, its schema, its hash, and the way back.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { activity, Flow, flow } from "../../src/index.ts";
import { again, done, type FlowDefinition } from "../../src/flow/index.ts";
import { projectRoot } from "../support/source-files.ts";
import { violations } from "./json-schema.ts";
import { approval, audit, charge, everything, linear, type Order } from "./samples.ts";

const schema = JSON.parse(
  readFileSync(join(projectRoot, "src/flow/definition.schema.json"), "utf8"),
) as Record<string, unknown>;

/** A copy of a definition, to be changed. */
function copyOf(definition: FlowDefinition): {
  nodes: Record<string, unknown>[];
  [k: string]: unknown;
} {
  return JSON.parse(JSON.stringify(definition)) as ReturnType<typeof copyOf>;
}

test("the hash of a flow is stored behaviour: these never change", () => {
  expect({ linear: linear.hash, everything: everything.hash }).toEqual(GOLDEN);
});

const GOLDEN = {
  linear: "e680c02b7eb58e9868a2f61448383c034c05cd9f1db1099519e5e428e23dead3",
  everything: "4aa2b05bf226f367a089c10967db941f63db371eace75cacd61a7dddeaa2e2d8",
};

test("what is hashed is this text", () => {
  const step = (id: string): string => `["task","${id}",null,null,null]`;
  const text = `["perdure.flow.1","linear",null,[${step("double")},${step("add")}]]`;
  expect(createHash("sha256").update(text).digest("hex")).toBe(linear.hash);
});

const base = () =>
  flow<Order>("order")
    .then("a", (order) => order.id)
    .delay("d", "1m");

test.each<[string, { readonly hash: string }]>([
  [
    "another name",
    flow<Order>("other")
      .then("a", (order) => order.id)
      .delay("d", "1m")
      .build(),
  ],
  [
    "another id",
    flow<Order>("order")
      .then("b", (order) => order.id)
      .delay("d", "1m")
      .build(),
  ],
  [
    "another order",
    flow<Order>("order")
      .delay("d", "1m")
      .then("a", (order) => order.id)
      .build(),
  ],
  ["one more node", base().delay("e", "1m").build()],
  [
    "an activity in place of a function",
    flow<Order>("order").then("a", charge).delay("d", "1m").build(),
  ],
  [
    "another version of a step",
    flow<Order>("order")
      .then("a", () => 1, { version: "2" })
      .delay("d", "1m")
      .build(),
  ],
  [
    "a compensation",
    flow<Order>("order")
      .then("a", () => 1)
      .defer(() => 1)
      .delay("d", "1m")
      .build(),
  ],
  [
    "another point of compaction",
    flow<Order>("order", { compactAfter: 99 })
      .then("a", () => 1)
      .delay("d", "1m")
      .build(),
  ],
])("%s is another structure", (_title, other) => {
  expect(other.hash).not.toBe(base().build().hash);
});

const looped = (options: object) =>
  flow<number>("l")
    .loop("l", (f) => f.then("a", (n) => (n > 1 ? done(n) : again(n))), options)
    .build();
const waiting = (options: object) => flow("w").waitFor(approval, options).build();
const mapped = (options: object) =>
  flow<number[]>("m")
    .map(
      "m",
      (list) => list,
      (f) => f.then("a", (n) => n),
      options,
    )
    .build();
const forked = (options: object) =>
  flow<number>("f")
    .fork({ a: (f) => f.then("x", (n) => n), b: (f) => f }, options)
    .build();

test.each<[string, { readonly hash: string }, { readonly hash: string }]>([
  ["a loop's limit", looped({ maxIterations: 3 }), looped({ maxIterations: 4 })],
  ["what a loop does at its limit", looped({}), looped({ onMax: "exitWithLast" })],
  ["whether a wait has a time-out", waiting({}), waiting({ timeout: "1d" })],
  [
    "what a time-out does",
    waiting({ timeout: "1d" }),
    waiting({ timeout: "1d", onTimeout: "continue" }),
  ],
  ["how many items at a time", mapped({ concurrency: 2 }), mapped({ concurrency: 3 })],
  ["what a failure does", forked({}), forked({ onError: "settle" })],
])("%s is part of the structure", (_title, one, other) => {
  expect(one.hash).not.toBe(other.hash);
});

test("tuning is not part of the structure: running work is not stranded (T39)", () => {
  const plain = flow<number>("t")
    .then("a", (n) => n)
    .delay("d", "1m")
    .waitFor(approval, { timeout: "1d" });
  const tuned = flow<number>("t", { metadata: { team: "x" }, description: "tuned" })
    .then("a", (n) => n + 1, {
      retry: 5,
      timeout: "3s",
      scheduleToClose: "1h",
      tags: ["gpu"],
      priority: 1,
      session: "s",
      heartbeatTimeout: "1s",
      metadata: { a: 1 },
      description: "more",
    })
    .delay("d", "2h")
    .waitFor(approval, { timeout: "7d" });
  expect(tuned.build().hash).toBe(plain.build().hash);
});

test("the order of a route's cases decides nothing, that of a fork's branches does", () => {
  const route = (cases: readonly ("a" | "b")[]) => {
    const branches = Object.fromEntries(cases.map((key) => [key, (f: unknown) => f]));
    return flow<"a" | "b">("r")
      .route("r", (key) => key, branches as never)
      .build().hash;
  };
  expect(route(["a", "b"])).toBe(route(["b", "a"]));
  const ab = flow("f")
    .fork({ a: (f) => f, b: (f) => f })
    .build();
  const ba = flow("f")
    .fork({ b: (f) => f, a: (f) => f })
    .build();
  expect(ab.hash).not.toBe(ba.hash);
});

test("two flows of one structure and different names share neither hash nor activities (T7)", () => {
  const one = flow("one")
    .then(() => 1)
    .build();
  const two = flow("two")
    .then(() => 2)
    .build();
  expect(one.hash).not.toBe(two.hash);
  expect(one.activities[0]?.name).not.toBe(two.activities[0]?.name);
});

test("the version is the author's with the hash behind it", () => {
  const built = flow("v", { version: "2.1.0" })
    .then("a", () => 1)
    .build();
  expect(built.version).toBe(`2.1.0+${built.hash}`);
  expect(built.hash).toMatch(/^[0-9a-f]{64}$/);
});

test("the published schema accepts every definition that build makes", () => {
  expect(violations(schema, everything.definition)).toEqual([]);
  expect(violations(schema, linear.definition)).toEqual([]);
  const kinds = new Set(everything.nodes().map(({ kind }) => kind));
  expect(kinds.size).toBe(10);
});

test.each<[string, (definition: ReturnType<typeof copyOf>) => void]>([
  ["another format", (definition) => (definition["format"] = 2)],
  ["no name", (definition) => delete definition["name"]],
  ["a member that nobody knows", (definition) => (definition["colour"] = "red")],
  ["a node of no kind", (definition) => (definition.nodes[0] = { id: "a" })],
  ["a node of an unknown kind", (definition) => (definition.nodes[0] = { kind: "goto", id: "a" })],
  ["a node without an id", (definition) => delete definition.nodes[0]?.["id"]],
  ["nodes that are no list", (definition) => (definition["nodes"] = {} as never)],
  [
    "a delay of a text",
    (definition) => definition.nodes.push({ kind: "delay", id: "x", delayMs: "1m" }),
  ],
  [
    "a loop below one",
    (definition) =>
      definition.nodes.push({ kind: "loop", id: "x", maxIterations: 0, onMax: "fail", nodes: [] }),
  ],
  [
    "an id with a slash",
    (definition) => definition.nodes.push({ kind: "delay", id: "a/b", delayMs: 1 }),
  ],
  [
    "a retry without an attempt",
    (definition) =>
      definition.nodes.push({
        kind: "task",
        id: "x",
        options: {
          retry: {
            maxAttempts: 0,
            backoff: { kind: "none", baseMs: 0, factor: 1, maxMs: 0, jitter: 0 },
            onTimeout: true,
            nonRetryable: [],
          },
        },
      }),
  ],
  [
    "a priority of nine",
    (definition) => definition.nodes.push({ kind: "task", id: "x", options: { priority: 9 } }),
  ],
])("%s is refused, by the schema and by fromDefinition", (_title, change) => {
  const definition = copyOf(linear.definition);
  change(definition);
  expect(violations(schema, definition)).not.toEqual([]);
  expect(() => Flow.fromDefinition(definition, linear.activities)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT" }) as Error,
  );
});

test("fromDefinition rebuilds a flow from its JSON and its activities", () => {
  const json: unknown = JSON.parse(JSON.stringify(everything.definition));
  const again = Flow.fromDefinition(json, [...everything.activities, audit]);
  expect(again.definition).toEqual(everything.definition);
  expect(again.hash).toBe(everything.hash);
  expect(again.version).toBe(everything.version);
  expect(again.activities.map(({ name }) => name).sort()).toEqual(
    everything.activities.map(({ name }) => name).sort(),
  );
  expect(again.toMermaid()).toBe(everything.toMermaid());
});

test("fromDefinition takes functions by their path, and names all that are missing", () => {
  const built = Flow.fromDefinition(linear.definition, {
    double: (n: number) => n * 2,
    add: activity("whatever its name", (n: number) => n + 1),
  });
  expect(built.hash).toBe(linear.hash);
  expect(() => Flow.fromDefinition(linear.definition)).toThrow(
    'there is no function for "double"; there is no function for "add"',
  );
});

test("toMermaid draws every kind of node, and no id is syntax", () => {
  const picture = everything.toMermaid();
  expect(picture).toBe(PICTURE);
  const hostile = flow('a"] --> b')
    .then('x"]; click y', () => 1)
    .build();
  expect(hostile.toMermaid()).toContain('["x&quot;]; click y"]');
});

const PICTURE = `flowchart TD
  n1(["everything"])
  subgraph n2["watched by catch"]
    n3["charge"]
    n1 --> n3
    n3 -. "undo" .-> n3
    n4{{"fork"}}
    n3 --> n4
    n6["send"]
    n4 -->|"mail"| n6
    n7[/"pause 1m"/]
    n6 --> n7
    subgraph n8["each: every item, 2 at a time"]
      n9["each.items"]
      n4 -->|"stock"| n9
      n10["reserve"]
      n9 --> n10
    end
    n7 --> n5
    n10 -->|"all"| n5
    n5(( ))
    n11["merge"]
    n5 --> n11
    n12{"kind"}
    n11 --> n12
    n13["sum"]
    n12 -->|"many"| n13
    n14["only"]
    n12 -->|"one"| n14
    subgraph n15["refine: at most 5 rounds"]
      n16["refine"]
      n13 --> n16
      n14 --> n16
      n17["step"]
      n16 --> n17
      n17 -->|"again"| n16
    end
    n18>"approval, 2d"]
    n17 -->|"done"| n18
    n19["begin"]
    n18 --> n19
    subgraph n20["inline"]
      n21["double"]
      n19 --> n21
      n22["add"]
      n21 --> n22
    end
    n23["order"]
    n22 --> n23
    n24[["audited: audit"]]
    n23 --> n24
  end
  n25["catch"]
  n2 -. "failure" .-> n25
  n26["handle"]
  n25 --> n26
  n27(["end"])
  n24 --> n27
  n26 --> n27
`;

test("a child's priority is part of the definition and not of the hash", () => {
  const made = (priority?: number) =>
    flow<Order>("parent")
      .child("audit", audit, priority === undefined ? {} : { priority })
      .build();
  const urgent = made(1);
  expect(urgent.definition.nodes).toMatchObject([{ kind: "child", priority: 1 }]);
  expect(urgent.hash).toBe(made().hash);
  const json = JSON.parse(JSON.stringify(urgent.definition)) as FlowDefinition;
  expect(violations(schema, json)).toEqual([]);
  expect(Flow.fromDefinition(json, [audit]).definition).toEqual(urgent.definition);
  expect(() => made(9)).toThrow(/priority of child "audit" is a whole number from 1 to 5, not 9/);
});
