// The instances of the programmes: orders of several activities, whose every run is logged, and poison that ends its process.

import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { activity, orchestration } from "../../src/index.ts";
import { CRASH_CODE } from "../../test/faults/kill/fleet.ts";

export interface Order {
  readonly rounds: number;
  /** How long each activity takes. */
  readonly ms: number;
}

/** Where poison ends its process. */
export const POISONS = ["turn", "step", "activity"] as const;
export type Poison = (typeof POISONS)[number];

/** The definitions. Each run of an activity writes a line to the log when it begins. */
export function defineWork(log: string) {
  const charge = activity("charge", async (ms: number, { idempotencyKey, attempt }) => {
    appendFileSync(log, `${idempotencyKey} ${attempt} ${process.pid}\n`);
    if (ms > 0) await pause(ms);
    return 1;
  });
  const order = orchestration("order", async (ctx, { rounds, ms }: Order) => {
    let total = await ctx.step("note", () => 1);
    for (let round = 0; round < rounds; round++) total += await ctx.run(charge, ms);
    return total;
  });
  const die = activity("die", (): never => process.exit(CRASH_CODE));
  const poison = orchestration("poison", async (ctx, where: Poison) => {
    if (where === "turn") process.exit(CRASH_CODE);
    if (where === "step") await ctx.step("die", (): never => process.exit(CRASH_CODE));
    return ctx.run(die);
  });
  return { order, poison, register: [charge, order, die, poison] };
}

export function resultOf({ rounds }: Order): number {
  return rounds + 1;
}

/** How often each call of an activity ran, by its idempotency key. */
export function runsIn(log: string): ReadonlyMap<string, number> {
  const runs = new Map<string, number>();
  for (const line of readFileSync(log, "utf8").split("\n")) {
    const [key = ""] = line.split(" ");
    if (key !== "") runs.set(key, (runs.get(key) ?? 0) + 1);
  }
  return runs;
}

/** The processes that ran activities. */
export function processesIn(log: string): ReadonlySet<number> {
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  return new Set(lines.map((line) => Number(line.split(" ")[2])));
}

/** The calls that ran more than once. */
export function repeatedIn(log: string): readonly string[] {
  return [...runsIn(log)]
    .filter(([, runs]) => runs > 1)
    .map(([key, runs]) => `${key} ran ${runs} times`);
}
