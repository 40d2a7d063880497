// A flow as data: its definition, schema and hash, and rebuilding it from a definition.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { activity } from "../../../src/index.ts";
import { Flow, flow, again, done, type FlowDefinition } from "../../../src/flow/index.ts";
import { projectRoot } from "../../support/source-files.ts";
import { violations } from "./json-schema.ts";
import { approval, audit, charge, everything, linear, type Order } from "./samples.ts";

const schema = JSON.parse(
  readFileSync(join(projectRoot, "src/flow/data/definition.schema.json"), "utf8"),
) as Record<string, unknown>;

/** A mutable copy of a definition. */
function copyOf(definition: FlowDefinition): {
  nodes: Record<string, unknown>[];
  [k: string]: unknown;
} {
  return JSON.parse(JSON.stringify(definition)) as ReturnType<typeof copyOf>;
}

test("the hashes of existing flows must never change", () => {
  expect({ linear: linear.hash, everything: everything.hash }).toEqual(GOLDEN);
});

const GOLDEN = {
  linear: "e680c02b7eb58e9868a2f61448383c034c05cd9f1db1099519e5e428e23dead3",
  everything: "4aa2b05bf226f367a089c10967db941f63db371eace75cacd61a7dddeaa2e2d8",
};

test("the hash is the SHA-256 of the canonical text of the structure", () => {
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
    "a different name",
    flow<Order>("other")
      .then("a", (order) => order.id)
      .delay("d", "1m")
      .build(),
  ],
  [
    "a different id",
    flow<Order>("order")
      .then("b", (order) => order.id)
      .delay("d", "1m")
      .build(),
  ],
  [
    "a different order",
    flow<Order>("order")
      .delay("d", "1m")
      .then("a", (order) => order.id)
      .build(),
  ],
  ["an additional node", base().delay("e", "1m").build()],
  [
    "an activity instead of a function",
    flow<Order>("order").then("a", charge).delay("d", "1m").build(),
  ],
  [
    "a different version of a step",
    flow<Order>("order")
      .then("a", () => 1, { version: "2" })
      .delay("d", "1m")
      .build(),
  ],
  [
    "a compensation",
    flow<Order>("order")
      .then("a", () => 1)
      .compensate(() => 1)
      .delay("d", "1m")
      .build(),
  ],
  [
    "a different compactAfter",
    flow<Order>("order", { compactAfter: 99 })
      .then("a", () => 1)
      .delay("d", "1m")
      .build(),
  ],
])("%s changes the hash", (_title, other) => {
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
  ["the limit of a loop", looped({ maxIterations: 3 }), looped({ maxIterations: 4 })],
  ["onMax of a loop", looped({}), looped({ onMax: "exitWithLast" })],
  ["the presence of a timeout", waiting({}), waiting({ timeout: "1d" })],
  [
    "onTimeout of a wait",
    waiting({ timeout: "1d" }),
    waiting({ timeout: "1d", onTimeout: "continue" }),
  ],
  ["the concurrency of a map", mapped({ concurrency: 2 }), mapped({ concurrency: 3 })],
  ["onError of a fork", forked({}), forked({ onError: "settle" })],
])("%s is part of the hash", (_title, one, other) => {
  expect(one.hash).not.toBe(other.hash);
});

test("tuning options are not part of the hash, so running instances continue (T39)", () => {
  const plain = flow<number>("t")
    .then("a", (n) => n)
    .delay("d", "1m")
    .waitFor(approval, { timeout: "1d" });
  const tuned = flow<number>("t", { metadata: { team: "x" }, description: "tuned" })
    .then("a", (n) => n + 1, {
      attempts: 5,
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

test("the order of a route's cases does not change the hash; the order of a fork's branches does", () => {
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

test("two flows with the same structure and different names share neither hash nor activities (T7)", () => {
  const one = flow("one")
    .then(() => 1)
    .build();
  const two = flow("two")
    .then(() => 2)
    .build();
  expect(one.hash).not.toBe(two.hash);
  expect(one.activities[0]?.name).not.toBe(two.activities[0]?.name);
});

test("the version is the author's version followed by the hash", () => {
  const built = flow("v", { version: "2.1.0" })
    .then("a", () => 1)
    .build();
  expect(built.version).toBe(`2.1.0+${built.hash}`);
  expect(built.hash).toMatch(/^[0-9a-f]{64}$/);
});

test("the published schema accepts every definition that build returns", () => {
  expect(violations(schema, everything.definition)).toEqual([]);
  expect(violations(schema, linear.definition)).toEqual([]);
  const kinds = new Set(everything.nodes().map(({ kind }) => kind));
  expect(kinds.size).toBe(10);
});

test.each<[string, (definition: ReturnType<typeof copyOf>) => void]>([
  ["an unknown format", (definition) => (definition["format"] = 2)],
  ["no name", (definition) => delete definition["name"]],
  ["an unknown member", (definition) => (definition["colour"] = "red")],
  ["a node without a kind", (definition) => (definition.nodes[0] = { id: "a" })],
  ["a node of an unknown kind", (definition) => (definition.nodes[0] = { kind: "goto", id: "a" })],
  ["a node without an id", (definition) => delete definition.nodes[0]?.["id"]],
  ["nodes that are not a list", (definition) => (definition["nodes"] = {} as never)],
  [
    "a delay given as text",
    (definition) => definition.nodes.push({ kind: "delay", id: "x", delayMs: "1m" }),
  ],
  [
    "a loop with a limit below one",
    (definition) =>
      definition.nodes.push({ kind: "loop", id: "x", maxIterations: 0, onMax: "fail", nodes: [] }),
  ],
  [
    "an id with a slash",
    (definition) => definition.nodes.push({ kind: "delay", id: "a/b", delayMs: 1 }),
  ],
  [
    "a retry with zero attempts",
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
])("%s is refused by the schema and by fromDefinition", (_title, change) => {
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

test("fromDefinition takes functions by path, and its error names all missing ones", () => {
  const built = Flow.fromDefinition(linear.definition, {
    double: (n: number) => n * 2,
    add: activity("any name", (n: number) => n + 1),
  });
  expect(built.hash).toBe(linear.hash);
  expect(() => Flow.fromDefinition(linear.definition)).toThrow(
    'no function given for "double"; no function given for "add"',
  );
});

test("toMermaid draws every kind of node and escapes ids", () => {
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

test("the priority of a child is part of the definition but not of the hash", () => {
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
  expect(() => made(9)).toThrow(
    /priority of child "audit" must be a whole number from 1 to 5 \(got 9\)/,
  );
});
