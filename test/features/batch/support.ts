// What the tests of batch jobs share: an orchestration that calls a batch job once per item, and a record of batches.

import { onTestFinished } from "vitest";
import type { BatchContext } from "../../../src/batch/index.ts";
import { ActivityError, orchestration, type Activity } from "../../../src/index.ts";
import { TestEnvironment, type TestEnvironmentOptions } from "../../../src/testing/index.ts";

export interface Doc {
  readonly id: number;
  readonly tenant?: string;
}

/** The outcome of an item as its caller sees it. */
export interface Seen {
  readonly value?: unknown;
  readonly failed?: string;
}

/** Calls the job for all items at once and returns what each call gave, in order. */
export function callerOf<Item, Out>(job: Activity<Item, Out>) {
  return orchestration("caller", async (ctx, items: readonly Item[]) => {
    const call = ctx.run as (activity: Activity<Item, Out>, item: Item) => Promise<Out>;
    const seen = items.map(async (item): Promise<Seen> => {
      try {
        return { value: await call(job, item) };
      } catch (error) {
        if (!(error instanceof ActivityError)) throw error;
        return { failed: error.message };
      }
    });
    return Promise.all(seen);
  });
}

/** Items with these ids. */
export function docs(...ids: readonly number[]): readonly Doc[] {
  return ids.map((id) => ({ id }));
}

/** The batches of a handler, as lists of ids, and the context of the newest one. */
export class Batches {
  readonly ids: (readonly number[])[] = [];
  readonly contexts: BatchContext[] = [];

  add(items: readonly Doc[], ctx: BatchContext): void {
    this.ids.push(items.map(({ id }) => id));
    this.contexts.push(ctx);
  }
}

export async function kitWith(
  register: TestEnvironmentOptions["register"],
  runtime: NonNullable<TestEnvironmentOptions["runtime"]> = {},
): Promise<TestEnvironment> {
  const kit = await TestEnvironment.create({ register, runtime });
  onTestFinished(() => kit.close());
  return kit;
}
