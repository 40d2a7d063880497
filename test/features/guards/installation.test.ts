// The first runtime with guards installs them, and the last one removes them and restores the originals (guards.3).

import crypto, { randomUUID } from "node:crypto";
import fs from "node:fs";
import fsPromises from "node:fs/promises";
import timers from "node:timers";
import timersPromises from "node:timers/promises";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { GUARD_NAMES } from "../../../src/core/define/guard-names.ts";
import { orchestration } from "../../../src/index.ts";
import { signal, startRuntime, virtualStore, virtualWorld } from "../../faults/trouble/support.ts";
import { actingGuards } from "./support.ts";

const work = orchestration("work", async () => actingGuards());

/** The current descriptors of every property that a guard may replace. */
function currentProperties(): readonly unknown[] {
  const owners: readonly (readonly [object, string])[] = [
    [globalThis, "Date"],
    [Date, "now"],
    [Date.prototype, "constructor"],
    [Object.getPrototypeOf(performance) as object, "now"],
    [performance, "now"],
    [Math, "random"],
    ...["randomUUID", "getRandomValues"].map(
      (name) => [Object.getPrototypeOf(globalThis.crypto) as object, name] as const,
    ),
    ...["randomUUID", "getRandomValues", "randomBytes"].map((name) => [crypto, name] as const),
    ...["setTimeout", "setInterval", "setImmediate"].flatMap((name) =>
      [globalThis, timers, timersPromises].map((owner) => [owner, name] as const),
    ),
    [AbortSignal, "timeout"],
    [globalThis, "fetch"],
    [fs, "readFileSync"],
    [fs.promises, "readFile"],
  ];
  return owners.map(([owner, name]) => [name, Object.getOwnPropertyDescriptor(owner, name)]);
}

test("the shutdown of the last runtime restores every property", async () => {
  const before = currentProperties();
  const byName = randomUUID;
  const first = await virtualWorld([work]);
  const during = currentProperties();
  expect(during).not.toEqual(before);
  const second = await virtualWorld([work]);
  expect(currentProperties()).toEqual(during);
  await first.runtime.shutdown();
  expect(currentProperties()).toEqual(during);
  await second.runtime.shutdown();
  expect(currentProperties()).toEqual(before);
  expect(randomUUID).toBe(byName);
});

test("a runtime without guards replaces nothing", async () => {
  const before = currentProperties();
  await virtualWorld([work], { guards: false });
  expect(currentProperties()).toEqual(before);
});

test("a runtime with one guard replaces only the properties of that guard", async () => {
  const before = currentProperties();
  await virtualWorld([work], { guards: { date: false, random: false, timers: false, io: false } });
  const changed = currentProperties().flatMap((entry, at) =>
    JSON.stringify(entry) === JSON.stringify(before[at]) && sameValue(entry, before[at])
      ? []
      : [(entry as [string])[0]],
  );
  expect(changed).toEqual(["fetch"]);
});

test("names of the same function still refer to one guarded function with the same name and length", async () => {
  await virtualWorld([work]);
  expect(timers.setTimeout).toBe(globalThis.setTimeout);
  expect(fs.promises.readFile).toBe(fsPromises.readFile);
  expect([Math.random.name, Math.random.length]).toEqual(["random", 0]);
  expect(setTimeout.name).toBe("setTimeout");
  // Uses Node's custom promisify form.
  await promisify(setTimeout)(1);
  expect(await promisify(setImmediate)("value")).toBe("value");
});

test("outside of orchestrations the guarded functions behave like the originals", async () => {
  await virtualWorld([work]);
  expect(actingGuards()).toEqual([]);
  const before = Date.now();
  expect(new Date().getTime()).toBeGreaterThanOrEqual(before);
  expect(new Date(Date()).getFullYear()).toBe(new Date().getFullYear());
  expect(Math.random()).not.toBe(Math.random());
  expect(globalThis.crypto.getRandomValues(new Uint8Array(4))).toHaveLength(4);
  const { now } = Date;
  expect(now()).toBeGreaterThan(0);
  expect(() => Reflect.apply(globalThis.crypto.randomUUID, {}, [])).toThrow(
    /invalid|this|expected Crypto/i,
  );
});

test("a replacement installed over a guard stays, and guards do not accumulate under it", async () => {
  const original = globalThis.setTimeout;
  onTestFinished(() => void vi.useRealTimers());
  const { provider, environment, client } = await virtualStore();
  for (let round = 0; round < 3; round++) {
    const runtime = await startRuntime(provider, [work]);
    const guard = globalThis.setTimeout;
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const fake = globalThis.setTimeout;
    await runtime.shutdown();
    expect(globalThis.setTimeout).toBe(fake);
    vi.useRealTimers(); // restores our guard, which no runtime needs any more
    expect(globalThis.setTimeout).toBe(guard);
    expect(actingGuards()).toEqual([]);
  }
  const last = await startRuntime(provider, [work]);
  const handle = await client.start(work);
  await environment.settle();
  expect(await handle.result()).toContain("timers");
  await last.shutdown();
  expect(globalThis.setTimeout).toBe(original);
});

test("turns within the grace period of a shutdown are guarded too", async () => {
  const seen: (readonly string[])[] = [];
  let shutDown = (): void => undefined;
  const looking = orchestration("looking", async () => {
    if (seen.length === 0) shutDown(); // the first turns of the other instances are due and will run
    seen.push(actingGuards());
  });
  const { client, environment, runtime } = await virtualWorld([looking]);
  const ended = signal();
  shutDown = () => void runtime.shutdown({ graceMs: 60_000 }).then(() => ended.reach());
  await Promise.all(Array.from({ length: 5 }, () => client.start(looking)));
  await environment.advance(100);
  await ended.reached;
  expect(seen).toEqual([1, 2, 3, 4, 5].map(() => GUARD_NAMES));
  expect(actingGuards()).toEqual([]);
});

function sameValue(a: unknown, b: unknown): boolean {
  const valueOf = (entry: unknown) => (entry as [string, PropertyDescriptor | undefined])[1]?.value;
  return Object.is(valueOf(a), valueOf(b));
}
