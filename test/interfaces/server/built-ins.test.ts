// Schedules, limiters and entities over HTTP.

import { expect, test, vi } from "vitest";
import { entity } from "../../../src/entity/index.ts";
import { orchestration } from "../../../src/index.ts";
import { limiter } from "../../../src/limiter/index.ts";
import { schedule } from "../../../src/schedule/index.ts";
import { echo, openScene, type Scene } from "./support.ts";

const nightly = schedule("nightly", {
  cron: "0 3 * * *",
  timezone: "Europe/Berlin",
  jitter: "5m",
  start: echo,
  input: (time: Date) => time.getTime(),
});
const bank = limiter("bank", { concurrency: 1 });
const visitor = orchestration("visitor", (ctx, key: string) =>
  bank.run(ctx, () => ctx.waitFor("leave"), { key }),
);
const basket = entity("basket", {
  state: () => ({ lines: 0 }),
  handlers: { add: (self, count: number) => (self.state = { lines: self.state.lines + count }) },
});

async function read<T>(scene: Scene, path: string): Promise<T> {
  const response = await scene.call("viewer", "GET", path);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

test("schedules show their rule, the next time and the latest run; a trigger starts a run", async () => {
  const scene = await openScene({}, [nightly]);
  const started = await vi.waitUntil(
    async () => {
      const found = await read<{ next?: string; instance: object }>(scene, "/schedules/nightly");
      return found.next === undefined ? null : found;
    },
    { timeout: 30_000, interval: 20 },
  );
  expect(started).toEqual({
    name: "nightly",
    instance: expect.objectContaining({ id: "nightly", status: "running" }),
    rule: {
      cron: "0 3 * * *",
      timezone: "Europe/Berlin",
      overlap: "skip",
      missed: "latest",
      jitterMs: 300_000,
    },
    next: expect.stringMatching(/T0[12]:00:00.000Z$/),
  });
  const triggered = await scene.call("operator", "POST", "/instances/nightly/events", {
    body: { name: "trigger" },
  });
  expect(triggered.status).toBe(204);
  const last = await vi.waitUntil(
    async () => {
      const { items } = await read<{ items: { last?: { id: string } }[] }>(scene, "/schedules");
      return items[0]?.last;
    },
    { timeout: 30_000, interval: 20 },
  );
  expect(last).toMatchObject({ outcome: "started", id: expect.stringContaining("-trigger-") });
  const runs = await read<{ items: { id: string }[] }>(
    scene,
    "/instances?attributes[schedule]=nightly",
  );
  expect(runs.items.map(({ id }) => id)).toEqual([last.id]);
  expect(await read(scene, "/schedules/unknown")).toEqual({ name: "unknown" });
});

test("limiters show the keys in use, their holders and the callers that wait", async () => {
  const scene = await openScene({}, [bank, visitor]);
  expect(await read(scene, "/limiters")).toEqual({
    items: [{ name: "bank", keys: [], keyCount: 0 }],
  });
  for (const id of ["v-1", "v-2", "v-3"]) {
    await scene.perdure.client.start(visitor, "berlin", { id });
  }
  await vi.waitFor(
    async () =>
      expect(await read(scene, "/limiters")).toEqual({
        items: [
          {
            name: "bank",
            keyCount: 1,
            keys: [
              {
                key: "berlin",
                instance: expect.objectContaining({ id: "bank/berlin" }),
                concurrency: 1,
                inUse: 1,
                holders: ["v-1"],
                waiting: 2,
              },
            ],
          },
        ],
      }),
    { timeout: 30_000, interval: 20 },
  );
});

test("entities show their keys and states, page by page", async () => {
  const scene = await openScene({}, [basket]);
  const { client } = scene.perdure;
  for (const key of ["ada", "bob", "amy"]) await client.entity(basket, key).add(2);
  expect(await read(scene, "/entities")).toEqual({ items: [{ name: "basket", count: 3 }] });
  interface Page {
    readonly items: readonly { readonly key: string; readonly state: unknown }[];
    readonly cursor?: string;
  }
  const first = await read<Page>(scene, "/entities/basket?prefix=a&limit=1");
  expect(first.items).toMatchObject([{ key: "amy", state: { lines: 2 } }]);
  const second = await read<Page>(scene, `/entities/basket?prefix=a&cursor=${first.cursor ?? ""}`);
  expect(second.items).toMatchObject([{ key: "ada", state: { lines: 2 } }]);
});
