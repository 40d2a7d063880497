// Orchestrations that call themselves: a return annotation or a call by name breaks the circular inference.

import { orchestration, type Orchestration } from "perdure";
import { expectTypeOf } from "../../support/expect-type.ts";

// With an annotated result the definition can be used inside itself.
const countDown: Orchestration<number, number> = orchestration(
  "count down",
  async (ctx, n: number): Promise<number> => (n === 0 ? 0 : ctx.call(countDown, n - 1)),
);
expectTypeOf(countDown).is<Orchestration<number, number>>();

// A call by name needs no annotation: the result is unknown and must be checked.
const byName = orchestration("by name", async (ctx, n: number) => {
  const inner: unknown = n === 0 ? 0 : await ctx.call("by name", n - 1);
  return typeof inner === "number" ? inner + 1 : 0;
});
expectTypeOf(byName).is<Orchestration<number, number>>();

// For two orchestrations that call each other, one annotation is enough.
const ping: Orchestration<number, string> = orchestration(
  "ping",
  async (ctx, n: number): Promise<string> => (n === 0 ? "over" : ctx.call(pong, n - 1)),
);
const pong = orchestration("pong", async (ctx, n: number) => ctx.call(ping, n - 1));
expectTypeOf(pong).is<Orchestration<number, string>>();

// Without both the compiler reports the circular inference at the definition.
// @ts-expect-error implicitly any, because it is referenced in its own initializer
const circular = orchestration("circular", async (ctx, n: number) => {
  return n === 0 ? 0 : ctx.call(circular, n - 1);
});
