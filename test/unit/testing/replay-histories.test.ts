// replayHistories checks many histories from files, folders and stores, and reports each difference.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import {
  formatRecorded,
  recordHistory,
  replayHistories,
  TestEnvironment,
} from "../../../src/testing/index.ts";

const folder = mkdtempSync(join(tmpdir(), "perdure-histories-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const charge = activity("charge", async (cents: number) => `r-${cents}`);
const pay = orchestration("pay", async (ctx, cents: number) => {
  const receipt = await ctx.run(charge, cents);
  await ctx.waitFor("approval");
  return receipt;
});
const changed = orchestration("pay", async (ctx, cents: number) => ctx.run("rate", cents));

test("files, folders and stores give the same report", async () => {
  await using kit = await TestEnvironment.create({ register: [pay, charge] });
  for (const id of ["a", "b"]) await kit.start(pay, 5, { id });
  await kit.settle();
  mkdirSync(join(folder, "deep"));
  const [a, b] = [join(folder, "a.json"), join(folder, "deep", "b.history")];
  writeFileSync(a, `${formatRecorded(await recordHistory(kit.store, "a"))}\n`);
  writeFileSync(b, formatRecorded(await recordHistory(kit.store, "b")));
  writeFileSync(join(folder, "notes.txt"), "not a history");

  for (const source of [folder, [a, b], kit.store] as const) {
    expect(await replayHistories(source, [pay])).toMatchObject({ checked: 2, ok: 2, broken: [] });
    expect(await replayHistories(source, [])).toMatchObject({
      checked: 2,
      unregistered: [{ id: "a" }, { id: "b", name: "pay", version: "1.0.0" }],
    });
  }
  const seen: string[] = [];
  const onReplayed = ({ id }: { readonly id: string }): void => void seen.push(id);
  const { ok, broken } = await replayHistories(folder, [changed], { onReplayed });
  expect({ ok, seen }).toEqual({ ok: 0, seen: ["a", "b"] });
  expect(broken[1]).toMatchObject({ id: "b", file: b, events: 4 });
  expect(broken[1]?.diff).toEqual([
    "NONDETERMINISM at event 2 of the history",
    '- recorded   ActivityScheduled "charge" with 5',
    '+ requested  ActivityScheduled "rate" with 5',
    expect.stringMatching(/^ {2}at .*replay-histories\.test\.ts:\d+:\d+$/),
  ]);
});

test("a missing or invalid file raises an error with its name and line", async () => {
  const bad = join(folder, "bad.txt");
  writeFileSync(bad, "\n{}");
  await expect(replayHistories(bad, [pay])).rejects.toThrow(
    /bad\.txt:2: This is not a recorded hist/,
  );
  await expect(replayHistories(join(folder, "none"), [pay])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});

test("a module registers its exported definitions", async () => {
  await using kit = await TestEnvironment.create({
    register: [{ pay, charge, note: "no definition" }],
  });
  await kit.start(pay, 5, { id: "m" });
  await kit.settle();
  expect(await replayHistories(kit.store, [{ pay }])).toMatchObject({ ok: 1, broken: [] });
  await kit.deploy([{ changed, charge }]);
  await expect(kit.deploy([{ note: "no definition" }])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
