import { expect, test } from "vitest";
import type { Provider } from "../../../src/core/provider/provider.ts";
import type { RuntimeRecord } from "../../../src/core/provider/runtimes.ts";
import { describeWait } from "../../../src/cli/text/instance-text.ts";
import { WorkerLiveness } from "../../../src/cli/text/worker-liveness.ts";

const NOW = 1_000_000;

function livenessOf(runtimes: readonly Partial<RuntimeRecord>[]): Promise<WorkerLiveness> {
  const registered = JSON.stringify({ staleMs: 5_000 });
  const listed = runtimes.map((runtime) => ({ process: null, registered, ...runtime }));
  const provider = { listRuntimes: async () => listed, now: () => NOW };
  return WorkerLiveness.read(provider as unknown as Provider);
}

function lineOf(worker: string, liveness?: WorkerLiveness): string {
  const wait = { kind: "activity", sequence: 2, name: "charge", attempt: 1, worker } as const;
  const pieces = describeWait(wait, NOW, liveness);
  return pieces.map((piece) => (typeof piece === "object" ? piece.text : piece)).join("");
}

test("an attempt on a worker that is alive is not marked", async () => {
  const liveness = await livenessOf([{ id: "a", beatAt: NOW - 4_000 }]);
  expect(lineOf("a", liveness)).toBe("  #2 activity charge, attempt 1 on a");
});

test.each([
  ["has no recent heartbeat", [{ id: "a", beatAt: NOW - 40_000 }], "no heartbeat for 40s"],
  ["is not registered", [], "no longer registered"],
])("an attempt on a worker that %s is marked", async (_, runtimes, why) => {
  const liveness = await livenessOf(runtimes);
  expect(lineOf("a", liveness)).toBe(`  #2 activity charge, attempt 1 on a (${why})`);
});

test("without liveness data no attempt is marked", () => {
  expect(lineOf("a")).toBe("  #2 activity charge, attempt 1 on a");
});
