// Shapes of flows that are sensitive to errors in the flow state, each with its input, signals and expected result.

import { event, orchestration, type Orchestration } from "../../../src/index.ts";
import { flow, again, done } from "../../../src/flow/index.ts";

export interface Shape {
  readonly title: string;
  readonly flow: Orchestration<never, unknown>;
  readonly input: unknown;
  /** Raised in this order, each when no more work is due. */
  readonly signals?: readonly { readonly name: string; readonly data: unknown }[];
  readonly register?: readonly Orchestration<never, unknown>[];
  readonly result: unknown;
}

const go = event<number>("go");
const stop = event<number>("stop");

const square = flow<number>("square")
  .then("times", (n) => n * n)
  .delay("rest", "1s")
  .build();
const code = orchestration("code", async (ctx, n: number) => {
  await ctx.sleep("1s");
  return n + (await ctx.step("one", () => 1));
});

function shape(built: Orchestration<never, unknown>, rest: Omit<Shape, "title" | "flow">): Shape {
  return { title: built.name, flow: built, ...rest };
}

export const SHAPES: readonly Shape[] = [
  shape(
    flow<number>("a linear chain")
      .then("a", (n) => n + 1)
      .then("b", (n) => n * 2)
      .then("c", (n) => ({ n }))
      .build(),
    { input: 1, result: { n: 4 } },
  ),
  shape(
    flow<number>("nested forks whose branches all get the input of the fork")
      .fork({
        a: (f) =>
          f
            .then("x", (n) => n + 1)
            .fork({ p: (g) => g.then("y", (n) => n * 10), q: (g) => g.then("y", (n) => n * 100) }),
        b: (f) => f.then("x", (n) => n + 2).then("z", (n) => -n),
        c: (f) => f,
      })
      .build(),
    { input: 1, result: { a: { p: 20, q: 200 }, b: -3, c: 1 } },
  ),
  shape(
    flow<number>("a fork branch of several steps that returns its last value")
      .fork({
        slow: (f) =>
          f
            .then("one", (n) => n + 1)
            .delay("pause", "10s")
            .then("two", (n) => n * 10),
        fast: (f) => f.then("one", (n) => n + 5),
      })
      .then("join", ({ slow, fast }) => slow + fast)
      .build(),
    { input: 1, result: 26 },
  ),
  shape(
    flow<number>("a route in a loop")
      .loop(
        "l",
        (f) =>
          f.route("odd", (n) => (n % 2 === 0 ? "even" : "odd"), {
            even: (g) => g.then("half", (n) => again(n / 2)),
            odd: (g) => g.then("more", (n) => (n === 1 ? done("one") : again(3 * n + 1))),
          }),
        { maxIterations: 50 },
      )
      .build(),
    { input: 6, result: "one" },
  ),
  shape(
    flow<number>("loops in a fork, each with a separate carried value")
      .fork({
        up: (f) => f.loop("l", (g) => g.then("s", (n) => (n > 4 ? done(n) : again(n + 1)))),
        down: (f) =>
          f.loop("l", (g) =>
            g.delay("tick", "1s").then("s", (n) => (n < -2 ? done(n) : again(n - 1))),
          ),
      })
      .build(),
    { input: 1, result: { up: 5, down: -3 } },
  ),
  shape(
    flow<number>("signals in branches")
      .fork({
        left: (f) => f.waitFor("left", go).then("x", (n) => n * 2),
        right: (f) =>
          f
            .then("before", (n) => n)
            .waitFor("right", stop)
            .delay("rest", "1s"),
      })
      .then("sum", ({ left, right }) => left + right)
      .build(),
    {
      input: 1,
      signals: [
        { name: "stop", data: 100 },
        { name: "go", data: 7 },
      ],
      result: 114,
    },
  ),
  shape(
    flow<number>("a delay and a signal at the end of a branch, a body and a call")
      .fork({ a: (f) => f.delay("end", "5s"), b: (f) => f.waitFor(go) })
      .then("sum", ({ a, b }) => a + b)
      .route("r", () => "x" as const, { x: (f) => f.then("one", (n) => n + 1).delay("end", "5s") })
      .call(
        "inline",
        flow<number>("inner")
          .then("two", (n) => n * 2)
          .delay("end", "1s")
          .build(),
      )
      .then("after", (n) => `${n}!`)
      .build(),
    { input: 1, signals: [{ name: "go", data: 10 }], result: "24!" },
  ),
  shape(
    flow<number>("a child flow in a loop")
      .loop("l", (f) => f.child("c", square).then("s", (n) => (n > 50 ? done(n) : again(n))))
      .build(),
    { input: 2, register: [square], result: 256 },
  ),
  shape(
    flow<number>("an orchestration as a child, and a flow inline twice")
      .child("code", code)
      .call("first", square)
      .call("second", square)
      .build(),
    { input: 1, register: [code], result: 16 },
  ),
  shape(
    flow<number>("a delay as the first node")
      .delay("first", "1m")
      .then("a", (n) => n + 1)
      .build(),
    { input: 1, result: 2 },
  ),
  shape(
    flow<number>("a signal as the first node")
      .waitFor(go)
      .then("a", (n) => n + 1)
      .build(),
    { input: 1, signals: [{ name: "go", data: 41 }], result: 42 },
  ),
  shape(
    flow<readonly number[]>("a map in a fork with a concurrency of three")
      .fork({
        all: (f) =>
          f.map(
            "m",
            (list) => list,
            (g) => g.then("x", (n) => n * 2).delay("d", "1s"),
            { concurrency: 3 },
          ),
        none: (f) =>
          f.map(
            "m",
            () => [] as number[],
            (g) => g.then("x", (n) => n),
          ),
      })
      .build(),
    { input: [5, 4, 3, 2, 1], result: { all: [10, 8, 6, 4, 2], none: [] } },
  ),
  shape(
    flow<number>("a failure that is caught in a loop with a compensation")
      .loop("l", (f) =>
        f
          .then("do", (n) => n + 1)
          .compensate(() => "undone")
          .then("fail", (n): number => {
            if (n < 3) throw new Error(`not ${n}`);
            return n;
          })
          .catch((g) =>
            g.then("why", ({ failure, input }) => again({ input, why: failure.message })),
          )
          .then("next", (r) => (typeof r === "number" ? done(r) : again(r.value.input + 1))),
      )
      .build(),
    { input: 0, result: 3 },
  ),
  shape(
    flow<number>("branches whose failures are collected")
      .fork(
        {
          good: (f) => f.then("x", (n) => n).delay("d", "2s"),
          bad: (f) =>
            f.then("x", (): number => {
              throw new Error("no");
            }),
        },
        { onError: "settle" },
      )
      .then("look", ({ good, bad }) => [good, bad.ok || bad.failure.message])
      .build(),
    { input: 1, result: [{ ok: true, value: 1 }, "no"] },
  ),
  shape(
    flow<number>("a loop that compacts itself alongside a wait and a timer", { compactAfter: 20 })
      .then("zero", (n) => n)
      .fork({
        loop: (f) =>
          f.loop("l", (g) => g.then("s", (n) => (n >= 40 ? done(n) : again(n + 1))), {
            maxIterations: 100,
          }),
        wait: (f) => f.waitFor(go, { timeout: "30d" }),
        timer: (f) => f.delay("d", "10m").then("late", (n) => n - 1),
      })
      .build(),
    { input: 0, signals: [{ name: "go", data: 9 }], result: { loop: 40, wait: 9, timer: -1 } },
  ),
];
