// perdure check: whether the code of the config can replay the recorded histories, before it is deployed.

import { chmodSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import { Project, until } from "./support.ts";

const charge = activity("charge", async (cents: number) => `r-${cents}`);
const pay = orchestration("pay", async (ctx, cents: number) => {
  const receipt = await ctx.run(charge, cents);
  await ctx.waitFor("approval");
  return receipt;
});
const gone = orchestration("gone", async (ctx) => ctx.waitFor("never"), { version: "2.0.0" });

/** The code that is about to be deployed. */
const config = (body: string): Record<string, string> => ({
  "perdure.config.ts": `
import { defineConfig } from "perdure";
import { pay } from "./pay.ts";
export default defineConfig({ register: [pay] });
`,
  "pay.ts": `import { orchestration } from "perdure";

export const pay = orchestration("pay", async (ctx, cents: number) => {
${body}
});
`,
});
const SAME = `  const receipt = await ctx.run("charge", cents);
  await ctx.waitFor("approval");
  return receipt;`;
const BROKEN = `  const rate = await ctx.run("rate", cents);
  const receipt = await ctx.run("charge", rate);
  return receipt;`;

/** Three instances of pay that wait, and one that ended. */
async function recorded(files: Record<string, string>): Promise<Project> {
  const project = new Project(files);
  const perdure = await Perdure.open(`sqlite:${project.file}`, {
    register: [pay, charge, gone],
    runtime: { log: () => undefined },
  });
  const { client } = perdure;
  for (const id of ["a", "b", "c"]) await client.start(pay, 5, { id });
  const ended = await client.start(pay, 7, { id: "ended", events: [{ name: "approval" }] });
  await ended.result();
  await until(async () => {
    const infos = await Promise.all(["a", "b", "c"].map((id) => client.get(id).describe()));
    return infos.every((info) => info.waitingFor[0]?.kind === "event");
  });
  await perdure.close();
  return project;
}

describe("code that replays", () => {
  test("exits with 0, on a live store and on exported histories", async () => {
    const project = await recorded(config(SAME));
    const before = readFileSync(project.file);
    const live = await project.run("check");
    expect(live).toMatchObject({ code: 0, stdout: "✓ 3 histories checked, 3 ok\n", stderr: "" });
    const json = (await project.run("check --status live,ended --json")).json();
    expect(json).toEqual({ checked: 4, ok: 4, broken: [], unregistered: [] });
    expect(readFileSync(project.file)).toEqual(before); // read-only (check.1)
  });
});

describe("code that would block instances", () => {
  test("is shown as a diff with the source line, once for all instances that break the same way: exit code 8", async () => {
    const project = await recorded(config(BROKEN));
    // Only a process without Vitest loads the config at its own line and column.
    const { code, stdout } = await project.run("check", { asProcess: true });
    expect(code).toBe(8);
    expect(stdout).toBe(
      [
        "✗ pay 1.0.0 would be blocked: a, b, c",
        "  NONDETERMINISM at event 2 of the history",
        '  - recorded   ActivityScheduled "charge" with 5',
        '  + requested  ActivityScheduled "rate" with 5',
        `    at file://${join(project.folder, "pay.ts")}:4:26`,
        "3 histories checked, 0 ok",
        "",
      ].join("\n"),
    );
  });

  test("--json has both sides of the diff", async () => {
    const project = await recorded(config(BROKEN));
    const { code, ...ran } = await project.run("check --limit 1 --json");
    expect(code).toBe(8);
    expect(ran.json()).toEqual({
      checked: 1,
      ok: 0,
      broken: [
        {
          id: "a",
          name: "pay",
          version: "1.0.0",
          execution: 1,
          events: 4,
          reason: {
            code: "NONDETERMINISM",
            message: expect.stringContaining("nondeterministic: event 2"),
            sequence: 2,
            recorded: { kind: "ActivityScheduled", name: "charge", input: "5" },
            requested: { kind: "ActivityScheduled", name: "rate", input: "5" },
            source: expect.stringContaining("pay.ts:4:26"),
          },
        },
      ],
      unregistered: [],
    });
  });
});

test("instances that the config does not register would wait: exit code 8, unless an option allows it", async () => {
  const project = await recorded(config(SAME));
  const perdure = await Perdure.open(`sqlite:${project.file}`, {
    register: [gone],
    runtime: { log: () => undefined },
  });
  const handle = await perdure.client.start(gone, undefined, { id: "old" });
  await until(async () => (await handle.describe()).waitingFor.length > 0);
  await perdure.close();
  const { code, stdout } = await project.run("check");
  expect(code).toBe(8);
  expect(stdout).toContain("! gone 2.0.0 would wait for a worker: old\n");
  const allowed = await project.run("check --allow-unregistered --json");
  expect(allowed.code).toBe(0);
  expect(allowed.json()).toMatchObject({
    ok: 3,
    unregistered: [{ id: "old", name: "gone", version: "2.0.0", execution: 1 }],
  });
});

describe("exported histories", () => {
  test("are replayed without the store, one or many per file", async () => {
    const project = await recorded(config(SAME));
    const one = await project.run("history a --export one.history");
    expect(one.stdout).toBe("✓ 1 history written to one.history\n");
    const many = await project.run("history --name pay --export many.history --json");
    expect(many.json()).toEqual({ file: "many.history", histories: 4 });
    const standard = await project.run("history a --export -");
    expect(standard.stdout).toBe(readFileSync(join(project.folder, "one.history"), "utf8"));
    const env = { PERDURE_STORE: "sqlite:/nowhere/at/all.db" };
    const good = await project.run("check one.history many.history --json", { env });
    expect(good.json()).toMatchObject({ checked: 5, ok: 5 });
    project.write("pay.ts", config(BROKEN)["pay.ts"] ?? "");
    const bad = await project.run("check many.history --json", { env });
    expect(bad.code).toBe(8);
    expect(bad.json()).toMatchObject({
      checked: 4,
      broken: Array.from({ length: 4 }, () => ({ file: "many.history" })),
    });
  });

  test("S33: an exported history is readable only by its owner, even if it overwrites a file that others could read", async () => {
    const project = await recorded(config(SAME));
    const mode = (file: string) => statSync(join(project.folder, file)).mode & 0o777;
    await project.run("history a --export new.history");
    project.write("old.history", "old");
    chmodSync(join(project.folder, "old.history"), 0o644);
    await project.run("history a --export old.history");
    expect([mode("new.history"), mode("old.history")]).toEqual([0o600, 0o600]);
  });

  test("an invalid file is refused with its line number", async () => {
    const project = new Project(config(SAME));
    project.write("bad.history", '\n{"format":"other"}\n');
    const bad = await project.run("check bad.history");
    expect(bad).toMatchObject({ code: 2 });
    expect(bad.stderr).toMatch(/bad\.history:2: This is not a recorded history/);
    expect(await project.run("check nothing.history")).toMatchObject({ code: 2 });
    const export_ = await project.run("history a --export /nowhere/x.history");
    expect(export_.code).not.toBe(0);
  });
});

test("without a config the command fails and suggests perdure init", async () => {
  const project = new Project();
  const { code, stderr } = await project.run("check");
  expect(code).toBe(2);
  expect(stderr).toContain("perdure init");
});
