// Rounds that span several executions: they continue as new by themselves.

import type { OrchestrationContext } from "../../../core/context/types.ts";
import type { RootInput } from "./interpreter.ts";
import type { Program } from "./program.ts";
import { serve } from "./requests.ts";

/** Runs one execution of a round that continues as new by itself. Returns null for an ordinary round. */
export async function roundOfItsOwn(
  ctx: OrchestrationContext,
  round: Program,
  { turns = 0, wrong = [] }: RootInput,
) {
  if (round.op === "spin") {
    const isOver = turns + 1 >= round.times;
    return { isOver, carried: { turns: turns + 1, wrong } };
  }
  if (round.op === "serve") {
    await serve(ctx, round);
    return { isOver: false, carried: { turns: turns + 1, wrong } };
  }
  if (round.op !== "mailbox") return null;
  const heard = [];
  while (heard.length < round.perExecution && turns + heard.length < round.count) {
    heard.push(await ctx.waitFor(round.name));
  }
  const strange = heard.flatMap((said, index) => (said === turns + index ? [] : [said]));
  const carried = { turns: turns + heard.length, wrong: [...wrong, ...strange] };
  return { isOver: carried.turns >= round.count, carried };
}

export function valueOf({ turns, wrong }: { turns: number; wrong: readonly unknown[] }): unknown {
  return wrong.length === 0 ? turns : wrong;
}
