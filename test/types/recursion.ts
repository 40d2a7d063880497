// Orchestrations that call themselves: a return annotation breaks the circle, or a name does.

import { orchestration, type Orchestration } from "perdure";
import { expectTypeOf } from "../support/expect-type.ts";

// With an annotation of the result the definition can be named inside of itself.
const countDown: Orchestration<number, number> = orchestration(
  "count down",
  async (ctx, n: number): Promise<number> => (n === 0 ? 0 : ctx.call(countDown, n - 1)),
);
expectTypeOf(countDown).is<Orchestration<number, number>>();

// By its name it needs none: what comes back is unknown and has to be looked at.
const byName = orchestration("by name", async (ctx, n: number) => {
  const inner: unknown = n === 0 ? 0 : await ctx.call("by name", n - 1);
  return typeof inner === "number" ? inner + 1 : 0;
});
expectTypeOf(byName).is<Orchestration<number, number>>();

// Two that call each other: one annotation is enough.
const ping: Orchestration<number, string> = orchestration(
  "ping",
  async (ctx, n: number): Promise<string> => (n === 0 ? "over" : ctx.call(pong, n - 1)),
);
const pong = orchestration("pong", async (ctx, n: number) => ctx.call(ping, n - 1));
expectTypeOf(pong).is<Orchestration<number, string>>();

// Without either the compiler goes round in circles, and says so where it is written.
// @ts-expect-error implicitly any, because it is referenced in its own initializer
const circular = orchestration("circular", async (ctx, n: number) => {
  return n === 0 ? 0 : ctx.call(circular, n - 1);
});
