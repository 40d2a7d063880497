import { expect, test } from "vitest";
import { orchestration } from "../../../../src/core/define/definitions.ts";
import type { LogFields } from "../../../../src/core/telemetry/log.ts";
import type { RuntimeContext } from "../../../../src/runtime/context.ts";
import { Blocker } from "../../../../src/runtime/instances/blocker.ts";
import type { HeldInstance } from "../../../../src/runtime/instances/held-instance.ts";
import type { FinishedTurn } from "../../../../src/runtime/replay/turn-job.ts";

test("a turn that fails inside the engine is logged, and its instance is quarantined", () => {
  const lines: [string, string, LogFields][] = [];
  const items: { readonly reason: string }[] = [];
  const nothing = (): void => undefined;
  const blocker = new Blocker({
    id: "worker-a",
    log: (...line: [string, string, LogFields]) => lines.push(line),
    committer: {
      submit: (item: { readonly reason: string }) => {
        items.push(item);
        return Promise.resolve();
      },
    },
    heldInstances: { release: nothing },
    pastBlocks: { blocked: nothing },
    stats: { blocked: 0 },
    storeNow: () => 0,
  } as unknown as RuntimeContext);
  const definition = orchestration("order", async () => null);
  const held = { id: "order-7", name: "order", execution: 1, definition, outcomes: [] };
  const bug = new Error("never");
  blocker.bug({
    held: held as unknown as HeldInstance,
    bug,
    outcomes: [],
  } as unknown as FinishedTurn);
  const about = { instance: "order-7", execution: 1, orchestration: "order", version: "1.0.0" };
  expect(lines).toEqual([
    ["error", "order, order-7: a turn failed inside the engine", { ...about, error: bug }],
    [
      "warn",
      "order, order-7: blocked: Internal error: Error: never",
      { ...about, code: "QUARANTINE" },
    ],
  ]);
  expect(items.map(({ reason }) => JSON.parse(reason) as object)).toMatchObject([
    { code: "QUARANTINE", by: "worker-a" },
  ]);
});
