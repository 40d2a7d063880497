// An eternal orchestration: a meter that takes readings forever, with a history that does not grow.

import { event, orchestration } from "../../src/index.ts";

export interface Meter {
  readonly total: number;
  readonly readings: number;
}

export const reading = event<number>("reading");

/** Readings per execution; then a new history begins under the same id. */
export const READINGS_AN_EXECUTION = 100;

export const meter = orchestration("meter", async (ctx, start: Meter): Promise<never> => {
  let { total, readings } = start;
  for (let taken = 0; taken < READINGS_AN_EXECUTION; taken++) {
    total += await ctx.waitFor(reading);
    readings += 1;
    ctx.setStatus({ total, readings });
  }
  return ctx.continueAsNew({ total, readings });
});
