// Building a flow: its nodes and definition, and one error that lists every mistake (semantics 24).

import { expect, test } from "vitest";
import { activity, event, orchestration, PerdureError } from "../../../src/index.ts";
import { flow, again, done, type FlowNode } from "../../../src/flow/index.ts";

const charge = activity("charge", (n: number) => n, { attempts: 3, timeout: "5s" });
const approval = event<string>("approval");

/** The mistakes that the error of `build` lists. */
function mistakes(build: () => unknown): readonly string[] {
  try {
    build();
  } catch (error) {
    expect(error).toBeInstanceOf(PerdureError);
    const { code, message } = error as PerdureError;
    expect(code).toBe("INVALID_ARGUMENT");
    return message
      .replace(/^Flow ".*" cannot be built: /, "")
      .replace(/\.$/, "")
      .split("; ");
  }
  throw new Error("build reported no mistake");
}

test("a builder is immutable: every call returns a new builder", () => {
  const start = flow<number>("order").then("a", (n) => n);
  const left = start.then("b", (n) => n);
  const right = start.then("c", (n) => n).catch((f) => f.then("d", () => 0));
  const paths = (built: { nodes(): readonly { path: string }[] }): readonly string[] =>
    built.nodes().map(({ path }) => path);
  expect(paths(start.build())).toEqual(["a"]);
  expect(paths(left.build())).toEqual(["a", "b"]);
  expect(paths(right.build())).toEqual(["a", "c", "catch", "catch/d"]);
});

test("nodes() lists id, kind, path, predecessor and options of every node, in order", () => {
  const built = flow<number>("order")
    .then(charge, { priority: 1, description: "takes the money" })
    .fork({ mail: (f) => f.then("send", (n) => n).delay("pause", "1m"), stock: (f) => f })
    .waitFor(approval, { timeout: "2d" })
    .build();
  expect(built.nodes()).toEqual([
    {
      id: "charge",
      kind: "task",
      path: "charge",
      activity: "charge",
      description: "takes the money",
      options: {
        timeoutMs: 5_000,
        priority: 1,
        retry: expect.objectContaining({ maxAttempts: 3 }) as unknown,
      },
    },
    { id: "fork", kind: "fork", path: "fork", after: "charge" },
    {
      id: "send",
      kind: "task",
      path: "fork.mail/send",
      parent: "fork",
      activity: `order@${built.hash.slice(0, 8)}/fork.mail/send`,
    },
    {
      id: "pause",
      kind: "delay",
      path: "fork.mail/pause",
      parent: "fork",
      after: "fork.mail/send",
      durationMs: 60_000,
    },
    {
      id: "approval",
      kind: "wait",
      path: "approval",
      after: "fork",
      signal: "approval",
      durationMs: 172_800_000,
    },
  ]);
});

test("the definition is plain JSON, is frozen, and contains all options", () => {
  const built = flow<number>("order", { metadata: { team: "shop" }, description: "an order" })
    .then("a", (n) => n, { tags: ["gpu"], session: "s", metadata: { step: 1 }, version: "2" })
    .loop("l", (f) => f.then("b", (n) => (n > 1 ? done(n) : again(n))), { maxIterations: 3 })
    .build();
  expect(JSON.parse(JSON.stringify(built.definition))).toEqual(built.definition);
  expect(built.definition).toMatchObject({
    format: 1,
    name: "order",
    version: "1.0.0",
    description: "an order",
    metadata: { team: "shop" },
  });
  expect(built.definition.nodes[0]).toEqual({
    kind: "task",
    id: "a",
    options: { tags: ["gpu"], session: "s" },
    version: "2",
    metadata: { step: 1 },
  });
  expect(() => (built.definition.nodes as FlowNode[]).pop()).toThrow(TypeError);
});

test("a step without an id is named after its activity, its function or its position", () => {
  const built = flow<number>("named")
    .then(charge)
    .then(function double(n: number) {
      return n * 2;
    })
    .then((n) => n)
    .build();
  expect(built.nodes().map(({ id }) => id)).toEqual(["charge", "double", "step-3"]);
});

test("one error lists all mistakes", () => {
  const bad = (): unknown =>
    flow<number>("order")
      .then("a", (n) => n)
      .then("a", (n) => n)
      .then("no/slash", (n) => n, { timeout: "soon" as "1s", priority: 9 })
      .fork({})
      .loop("l", (f) => f.then("b", () => done(1)), { maxIterations: 0 })
      .delay("d", -1)
      .map(
        "m",
        () => [1],
        (f) => f,
        { concurrency: 0.5 },
      )
      .build();
  expect(mistakes(bad)).toEqual([
    expect.stringContaining('timeout of "no/slash"'),
    expect.stringContaining('priority of "no/slash"'),
    expect.stringContaining('delay "d" must be'),
    'the id "a" is used twice on the first level',
    'the id of task "no/slash" must not contain "/" or "#": they separate the parts of a path',
    'fork "fork" has no branches',
    'maxIterations of loop "l" must be a whole number of at least 1 (got 0)',
    'map "m" has no nodes',
    'concurrency of map "m" must be a whole number of at least 1 (got 0.5)',
  ]);
});

test.each<[string, () => { build(): unknown }, string]>([
  ["a flow without a step", () => flow("empty"), "the flow has no steps"],
  ["a reserved name", () => flow("perdure.x").then("a", () => 1), "reserved"],
  [
    "a version with build metadata",
    () => flow("x", { version: "1.0.0+a" }).then("a", () => 1),
    "build metadata",
  ],
  [
    "metadata that is not JSON",
    () => flow("x", { metadata: new Date() as never }).then("a", () => 1),
    "metadata must be plain JSON",
  ],
  [
    "an unknown option",
    () => flow("x").then("a", () => 1, { retries: 3 } as never),
    'has an unknown option "retries"',
  ],
  [
    "a number as a retry policy",
    () => flow("x").then("a", () => 1, { retry: 5 } as never),
    "retry must be an object; for a number of attempts write attempts: 5",
  ],
  [
    "attempts together with a retry policy",
    () => flow("x").then("a", () => 1, { attempts: 5, retry: {} } as never),
    "attempts and retry exclude each other",
  ],
  [
    "a step that is not a function",
    () => flow("x").then("a", 7 as never),
    "an activity or a function",
  ],
  [
    "a branch that does not return its builder",
    () => flow("x").fork({ a: (() => undefined) as never }),
    'branch "a" must return the builder',
  ],
  [
    "a catch without a preceding node",
    () => flow("x").catch((f) => f.then("a", () => 1)),
    'catch "catch" has no nodes',
  ],
  [
    "two catches with the same id",
    () =>
      flow("x")
        .then("a", () => 1)
        .catch((f) => f.then("b", () => 2))
        .catch((f) => f.then("c", () => 3)),
    'the id "catch" is used twice on the first level',
  ],
  [
    "onTimeout without a timeout",
    () => flow("x").waitFor(approval, { onTimeout: "continue" }),
    "requires a timeout",
  ],
  [
    "two activities with the same name",
    () =>
      flow<number>("x")
        .then(charge)
        .then(
          "b",
          activity("charge", (n: number) => n),
        ),
    'two different activities are named "charge"',
  ],
  [
    "a route without a case",
    () => flow<string>("x").route("r", (s) => s, {}, { otherwise: (f) => f }),
    'route "r" has no cases',
  ],
  [
    "two nodes with the same path",
    () =>
      flow<number>("x")
        .fork("a", { b: (f) => f.then("c", () => 1) })
        .call(
          "a.b",
          flow("y")
            .then("c", () => 1)
            .build() as never,
        ),
    'two nodes have the path "a.b/c"',
  ],
  [
    "a path over the length limit of names",
    () => flow("x").then("a".repeat(250), () => 1),
    "longer than 256 bytes",
  ],
  [
    "a call of a flow with a schema",
    () =>
      flow<number>("x").call(
        flow<number>("y", {
          output: { "~standard": { version: 1, vendor: "t", validate: () => ({ value: 1 }) } },
        })
          .then("a", () => 1)
          .build(),
      ),
    'call "y" with child',
  ],
  [
    "a call of a value that is not a built flow",
    () => flow("x").call({} as never),
    "requires a flow returned by build()",
  ],
  [
    "a child of an invalid type",
    () => flow("x").child("c", 7 as never),
    "an orchestration, a flow or a name",
  ],
  ["a wait without an event", () => flow("x").waitFor("w", {} as never), "requires an event"],
])("%s is reported as a mistake", (_title, build, message) => {
  const found = mistakes(() => build().build());
  expect(found.join("; ")).toContain(message);
});

test("equal ids in different branches and calls do not collide", () => {
  const inner = flow<number>("inner")
    .then("a", (n) => n)
    .build();
  const built = flow<number>("outer")
    .then("a", (n) => n)
    .fork({ x: (f) => f.then("a", (n) => n), y: (f) => f.then("a", (n) => n).call("inner", inner) })
    .call(
      "first",
      flow<unknown>("again")
        .then("a", (n) => n)
        .build(),
    )
    .build();
  const names = built.activities.map(({ name }) => name.replace(/@\w{8}/, ""));
  expect(names).toEqual([
    "outer/a",
    "outer/fork.x/a",
    "outer/fork.y/a",
    "outer/fork.y/inner/a",
    "outer/first/a",
  ]);
});

test("awaiting a builder rejects with a hint to call build()", async () => {
  const builder = flow("awaited").then("a", () => 1);
  await expect(Promise.resolve(builder as unknown)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("call build()") as unknown,
  });
});

test("build copies its options, so later changes have no effect", () => {
  const tags = ["gpu"];
  const built = flow("tagged")
    .then("a", () => 1, { tags })
    .build();
  tags.push("more");
  expect(built.definition.nodes[0]).toMatchObject({ options: { tags: ["gpu"] } });
});

test("registering a flow registers its activities, and two flows with one name and structure are refused", async () => {
  const { Perdure } = await import("../../../src/index.ts");
  const make = () =>
    flow<number>("order")
      .then(charge)
      .then("own", (n) => n)
      .build();
  const built = make();
  const names = (register: Parameters<typeof Perdure.open>[1]) =>
    Perdure.open("sqlite::memory:", { ...register, autoStart: false });
  await using perdure = await names({ register: [built, charge] });
  expect(perdure.runtime.registered()).toEqual({
    activities: [`order@${built.hash.slice(0, 8)}/own`, "charge"],
    orchestrations: { order: [`1.0.0+${built.hash}`] },
  });
  await expect(names({ register: [built, make()] })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("is defined twice") as unknown,
  });
  const other = orchestration("order", async () => 1, { version: "2.0.0" });
  await using both = await names({ register: [built, other] });
  expect(both.runtime.registered().orchestrations["order"]).toHaveLength(2);
});
