// Every command as a separate process: it prints and exits as it does in the test process, where the other tests run it.
// Only worker.test.ts runs `worker`, `dev` and `ui`, which start processes or serve until a signal arrives.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import { stream } from "../../../src/stream/index.ts";
import { Project, until, type Ran } from "./support.ts";

/** One line per command. */
const LINES: Readonly<Record<string, string>> = {
  init: "init --json",
  list: "list --limit 2",
  counts: "counts",
  get: "get waiting",
  history: "history done",
  watch: "watch failed",
  kv: "kv waiting",
  streams: "streams done",
  stream: "stream done words",
  kept: "kept --json",
  queues: "queues",
  runtimes: "runtimes",
  metrics: "metrics --json",
  start: "start pay --id fresh --input -",
  enqueue: "enqueue mail --id letter --input 1",
  raise: "raise waiting go --data 1",
  ask: "ask done total",
  complete: "complete nonsense --json",
  cancel: "cancel waiting --reason enough",
  terminate: "terminate waiting missing --yes",
  pause: "pause waiting",
  resume: "resume waiting",
  retry: "retry failed --yes",
  unblock: "unblock waiting",
  rewind: "rewind failed --before 3 --yes",
  restart: "restart done --yes",
  fork: "fork done --before 3 --as copy",
  delete: "delete done --yes --json",
  prune: "prune done --keep-last 1 --yes",
  trim: "trim done words --yes",
  migrate: "migrate --verify",
  backup: "backup copy.db --json",
  check: "check --status all",
  doctor: "doctor --thorough --json",
};

const charge = activity("charge", async (cents: number, { stream: open }) => {
  await using out = open(stream<number>("words"));
  await out.write(cents);
  return cents * 2;
});
const pay = orchestration("pay", async (ctx, cents: number) => {
  ctx.kv.set("cents", cents);
  const paid = await ctx.run(charge, cents);
  if (cents < 0) throw new Error("no such amount");
  return cents === 0 ? ctx.waitFor("go") : paid;
});
const CONFIG = `
  import { activity, defineConfig, orchestration } from "perdure";
  const charge = activity("charge", async (cents) => cents * 2);
  const pay = orchestration("pay", async (ctx, cents) => {
    ctx.kv.set("cents", cents);
    const paid = await ctx.run(charge, cents);
    if (cents < 0) throw new Error("no such amount");
    return cents === 0 ? ctx.waitFor("go") : paid;
  });
  export default defineConfig({ register: [pay, charge] });`;

const template = join(mkdtempSync(join(tmpdir(), "perdure-template-")), "store.db");
beforeAll(async () => {
  await using perdure = await Perdure.open(`sqlite:${template}`, { register: [pay, charge] });
  const { client } = perdure;
  await (await client.start(pay, 5, { id: "done" })).result();
  const failed = await client.start(pay, -1, { id: "failed" });
  await expect(failed.result()).rejects.toThrow("no such amount");
  const waiting = await client.start(pay, 0, { id: "waiting" });
  await until(async () => (await waiting.describe()).waitingFor[0]?.kind === "event");
});
afterAll(() => rmSync(join(template, ".."), { recursive: true }));

test("this file has a line for every command", async () => {
  const { stdout } = await new Project().run("--help", { asProcess: true });
  const listed = [...stdout.matchAll(/^ {2}([a-z]+) (?=[[<])/gm)].map(([, name]) => name);
  const served = ["dev", "help", "ui", "worker"];
  expect(Object.keys(LINES).toSorted()).toEqual(
    listed.filter((name) => name !== undefined && !served.includes(name)).toSorted(),
  );
});

test.each(Object.entries(LINES))("perdure %s", async (name, line) => {
  const run = async (asProcess: boolean): Promise<unknown> => {
    const project = new Project(name === "init" ? {} : { "perdure.config.js": CONFIG });
    copyFileSync(template, project.file);
    const ran = await project.run(line, { asProcess, input: "7" });
    return comparable(ran, project.folder);
  };
  const asProcess = await run(true);
  expect(asProcess).toEqual(await run(false));
  expect(asProcess).toMatchObject({ stderr: expect.not.stringContaining("INTERNAL") });
});

/** Without what differs between two runs: the folder, times and durations. */
function comparable({ code, stdout, stderr }: Ran, folder: string): unknown {
  const same = (text: string): string =>
    text
      .replaceAll(folder, "")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time")
      .replaceAll(/\b\d+(\.\d+)? ?(ms|s)\b/g, "duration")
      .replaceAll(/ +/g, " ");
  return { code, stdout: same(stdout), stderr: same(stderr) };
}
