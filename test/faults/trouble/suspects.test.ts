// Tasks whose process died repeatedly: after two deaths they are tried together, after a third one at a time, each until
// its outcome is on disk (semantics 13).

import { expect, onTestFinished, test } from "vitest";
import { activity, Client, orchestration, type RuntimeOptions } from "../../../src/index.ts";
import { signal, startRuntime, virtualStore } from "./support.ts";
import { freezable, wrapProvider } from "./wrapped-provider.ts";

const OPTIONS: RuntimeOptions = { beatMs: 1_000, staleMs: 5_000, stickyIdleMs: 3_600_000 };
const TASKS = 8;

/** Tasks that were in flight when several runtimes, one after the other, were declared dead; one more takes over. */
async function afterDeaths(deaths: number, handler: (attempt: number) => unknown) {
  const { environment, provider } = await virtualStore();
  const onDisk = { gate: null as Promise<void> | null };
  const living = wrapProvider(provider, {
    commit: async (items) => {
      const isOutcome = items.some(
        (item) => item.kind === "completion" || (item.kind === "turn" && item.finished.length > 0),
      );
      if (isOutcome) await onDisk.gate;
      return provider.commit(items);
    },
  });
  // A death does not count while other suspects ran in the same process, so the attempt number is not the number of
  // runs.
  const entries = new Map<number, number>();
  const risky = activity("risky", (n: number, { attempt }) => {
    entries.set(n, (entries.get(n) ?? 0) + 1);
    return (entries.get(n) ?? 0) <= deaths ? new Promise<never>(() => undefined) : handler(attempt);
  });
  const work = orchestration("work", async (ctx, n: number) => ctx.run(risky, n));
  const client = new Client(provider);
  const first = freezable(provider);
  await startRuntime(first.provider, [work, risky], OPTIONS);
  const handles = await Promise.all(
    Array.from({ length: TASKS }, (_, n) => client.start(work, n, { id: `${n}` })),
  );
  await environment.advance(2_000);
  let dying = first;
  for (let death = 1; death <= deaths; death++) {
    const next = freezable(provider);
    await startRuntime(death === deaths ? living : next.provider, [work, risky], OPTIONS);
    await environment.advance(10_000);
    const { freeze, thaw } = dying;
    freeze();
    onTestFinished(() => thaw());
    if (death < deaths) await environment.advance(20_000);
    dying = next;
  }
  return { environment, handles, onDisk };
}

test("suspects that never died together are tried together", async () => {
  const finish = signal<string>();
  let entered = 0;
  const { environment, handles } = await afterDeaths(2, () => {
    entered += 1;
    return finish.reached;
  });
  await environment.advance(10_000);
  expect(entered).toBe(TASKS);
  finish.reach("ok");
  await environment.advance(5_000);
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results).toEqual(handles.map(() => "ok"));
});

test("the next suspect does not start before the previous one's outcome is on disk", async () => {
  let entered = 0;
  const { environment, handles, onDisk } = await afterDeaths(3, () => ++entered);
  let disk = signal();
  onDisk.gate = disk.reached;
  await environment.advance(20_000);
  // A message for each instance, so that the runtime holds the instances too: then a turn writes the outcome.
  for (const handle of handles) await handle.raise("hello");
  for (let n = 1; n <= TASKS; n++) {
    await environment.advance(2_000);
    expect(entered).toBe(n);
    const { reach } = disk;
    disk = signal();
    onDisk.gate = disk.reached; // this outcome is written, the next one waits again
    reach();
  }
  disk.reach();
  onDisk.gate = null;
  await environment.advance(5_000);
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results.toSorted((a, b) => Number(a) - Number(b))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a suspect in flight delays the other suspects, and no other task", async () => {
  const finish = signal<string>();
  let entered = 0;
  const { environment, handles } = await afterDeaths(3, () =>
    entered++ === 0 ? finish.reached : "ok",
  );
  await environment.advance(30_000);
  expect(entered).toBe(1);
  finish.reach("ok");
  await environment.advance(5_000);
  expect(entered).toBe(TASKS);
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results).toEqual(handles.map(() => "ok"));
});

test("a suspect that fails follows its own retry policy, and the next suspect starts meanwhile", async () => {
  let failures = 0;
  const { environment, handles } = await afterDeaths(3, () => {
    if (++failures > 3) return "ok";
    throw new Error("not yet");
  });
  await environment.advance(60_000);
  const settled = await Promise.allSettled(handles.map((handle) => handle.result()));
  // The activity has no retries: its own failure is final, but a death before it was not.
  expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(3);
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(TASKS - 3);
});
