// Every guard has a separate switch; Node's I/O modules are guarded only in development.

import { describe, expect, test, vi } from "vitest";
import { GUARD_NAMES, type GuardOptions } from "../../../src/core/define/guard-names.ts";
import { orchestration } from "../../../src/index.ts";
import { startRuntime, virtualWorld } from "../../faults/trouble/support.ts";
import { actingGuards } from "./support.ts";

const work = orchestration("work", async () => actingGuards());

async function actingWith(guards?: GuardOptions) {
  const { client } = await virtualWorld([work], guards === undefined ? {} : { guards });
  return (await client.start(work)).result();
}

describe("in development", () => {
  test("all guards are on by default and with true", async () => {
    expect(await actingWith()).toEqual(GUARD_NAMES);
    expect(await actingWith(true)).toEqual(GUARD_NAMES);
  });

  test.each(GUARD_NAMES)("%s can be switched off alone", async (name) => {
    expect(await actingWith({ [name]: false })).toEqual(GUARD_NAMES.filter((one) => one !== name));
  });

  test("false switches all of them off", async () => {
    expect(await actingWith(false)).toEqual([]);
  });
});

describe("in production", () => {
  test("I/O is not guarded, the rest is", async () => {
    vi.stubEnv("NODE_ENV", "production");
    try {
      expect(await actingWith()).toEqual(["date", "random", "timers", "fetch"]);
      expect(await actingWith(true)).toEqual(["date", "random", "timers", "fetch"]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test("I/O is guarded if the option requests it", async () => {
    vi.stubEnv("NODE_ENV", "production");
    try {
      expect(await actingWith({ io: true })).toEqual(GUARD_NAMES);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

test("each runtime of a process has the guards of its options, in any order of starts", async () => {
  const none = await virtualWorld([work], { guards: false });
  const some = await virtualWorld([work], { guards: { date: false, io: false } });
  const all = await virtualWorld([work]);
  const acting = async ({ client }: typeof all) => (await client.start(work)).result();
  expect(await acting(none)).toEqual([]);
  expect(await acting(some)).toEqual(["random", "timers", "fetch"]);
  expect(await acting(all)).toEqual(GUARD_NAMES);
  await all.runtime.shutdown();
  expect(await acting(some)).toEqual(["random", "timers", "fetch"]);
  await some.runtime.shutdown();
  await startRuntime(some.provider, [work]);
  expect(await acting(some)).toEqual(GUARD_NAMES);
});
