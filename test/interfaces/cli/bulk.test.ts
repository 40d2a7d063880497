// Commands that change many instances: they show the effect first, and never run by accident.

import { describe, expect, test } from "vitest";
import { orchestration, Perdure } from "../../../src/index.ts";
import { Project, runOnTerminal } from "./support.ts";

const noop = orchestration("noop", async () => "done");
const actor = orchestration("actor", async (ctx, left: number): Promise<string> => {
  return left === 0 ? "done" : ctx.continueAsNew(left - 1);
});

/** Five ended instances, and three that wait forever. */
async function filled(): Promise<Project> {
  const project = new Project();
  const perdure = await Perdure.open(`sqlite:${project.file}`, {
    register: [noop, actor],
    runtime: { log: () => undefined },
  });
  const { client } = perdure;
  for (let index = 0; index < 4; index++) {
    const handle = await client.start(noop, undefined, { id: `old-${index}` });
    await handle.result();
  }
  await (await client.start(actor, 3, { id: "actor" })).result();
  for (let index = 0; index < 3; index++) {
    await client.start("unregistered", undefined, { id: `live-${index}`, delay: "1h" });
  }
  await perdure.close();
  return project;
}

test("--dry-run shows the number and the ids, and changes nothing", async () => {
  const project = await filled();
  const text = await project.run("delete --name noop --dry-run");
  expect(text).toMatchObject({ code: 0, stderr: "" });
  expect(text.stdout).toBe("Would delete 4 instances:\n  old-0\n  old-1\n  old-2\n  old-3\n");
  const json = await project.run("terminate --all --limit 2 --dry-run --json");
  expect(json.json()).toEqual({
    action: "terminate",
    dryRun: true,
    count: 2,
    first: ["live-0", "live-1"],
    refused: [],
  });
  const refused = await project.run("terminate old-1 live-1 nothing --dry-run --json");
  expect(refused.json()).toMatchObject({
    count: 3,
    refused: [
      { id: "old-1", code: "INSTANCE_FINISHED" },
      { id: "nothing", code: "INSTANCE_NOT_FOUND" },
    ],
  });
  const shown = await project.run("restart old-1 live-1 --dry-run");
  expect(shown.stdout).toContain("1 instance would be refused:\n✗ live-1: ");
  expect(await (await project.client()).count()).toBe(8);
});

test("a command that reaches its limit prints a cursor, with which it goes on", async () => {
  const project = await filled();
  const options = {
    cwd: project.folder,
    env: { PERDURE_STORE: `sqlite:${project.file}`, NO_COLOR: "1" },
  };
  const first = await runOnTerminal("prune --name noop --limit 3 --yes", options);
  expect(first.stdout).toContain("✓ 3 instances pruned");
  const [, cursor = ""] = /--cursor (\S+)/.exec(first.stderr) ?? [];
  const rest = await runOnTerminal(`prune --name noop --cursor ${cursor} --yes --json`, options);
  expect(JSON.parse(rest.stdout)).toMatchObject({ done: 1 });
  expect(rest.stdout).not.toContain("cursor");
  for (const line of [
    "prune old-1 --cursor x",
    "prune --all --cursor x",
    "prune --all --cursor 0.x",
  ]) {
    expect([line, (await runOnTerminal(`${line} --yes`, options)).code]).toEqual([line, 2]);
  }
});

test("without ids, filters or --all no instance is selected; ids and filters together are refused", async () => {
  const project = await filled();
  const none = await project.run("delete --yes");
  expect(none).toMatchObject({ code: 2 });
  expect(none.stderr).toContain("No instances selected");
  expect(await project.run("delete old-0 --name noop --yes")).toMatchObject({ code: 2 });
  expect(await (await project.client()).count()).toBe(8);
});

test("without a terminal a filter needs --yes, and the command prints what it would do", async () => {
  const project = await filled();
  const { code, stdout, stderr } = await project.run("pause --status live");
  expect({ code, stdout }).toEqual({ code: 9, stdout: "" });
  expect(stderr).toMatch(/About to pause 3 instances:\n {2}live-0\n {2}live-1\n {2}live-2\n/);
  expect(await (await project.client()).count({ status: "paused" })).toBe(0);
});

describe("on a terminal", () => {
  const env = (project: Project) => ({ PERDURE_STORE: `sqlite:${project.file}`, NO_COLOR: "1" });

  test("yes confirms", async () => {
    const project = await filled();
    const options = { cwd: project.folder, env: env(project), typed: "y\n" };
    const { code, stdout, stderr } = await runOnTerminal("delete --name noop", options);
    expect(code).toBe(0);
    expect(stderr).toContain("Delete 4 instances? [y/N] ");
    expect(stdout).toContain("✓ 4 instances deleted (4 instances, 4 executions,");
    expect(await (await project.client()).count()).toBe(4);
  });

  test.each(["n\n", "\n", "", "yesterday\n"])("%j does not confirm", async (typed) => {
    const project = await filled();
    const options = { cwd: project.folder, env: env(project), typed };
    expect(await runOnTerminal("delete --name noop", options)).toMatchObject({ code: 9 });
    expect(await (await project.client()).count()).toBe(8);
  });
});

test("delete removes ended instances, and live ones only with --force", async () => {
  const project = await filled();
  const all = await project.run("delete --all --yes --json");
  expect(all.json()).toMatchObject({
    action: "delete",
    count: 5,
    done: 5,
    removed: { instances: 5 },
  });
  const live = await project.run("delete live-0 --yes");
  expect(live).toMatchObject({ code: 4 });
  const forced = await project.run("delete --id-prefix live- --force --yes --json");
  expect(forced.json()).toMatchObject({ done: 3 });
  expect(await (await project.client()).count()).toBe(0);
  const empty = await project.run("delete --all --yes");
  expect(empty).toMatchObject({ code: 0, stdout: "Nothing to do.\n" });
});

test("prune removes old executions and keeps the newest", async () => {
  const project = await filled();
  const some = await project.run("prune actor --keep-last 2 --yes --json");
  expect(some.json()).toMatchObject({ done: 1, removed: { instances: 0, executions: 2 } });
  const rest = await project.run("prune --all --older-than 1h --yes --json");
  expect(rest.json()).toMatchObject({ done: 8, removed: { executions: 0 } });
  expect(await (await project.client()).get("actor").executions()).toHaveLength(2);
});

test("with several ids each refusal is reported separately: exit code 10", async () => {
  const project = await filled();
  const { code, stdout, stderr } = await project.run("terminate live-0 missing old-0 --yes");
  expect(code).toBe(10);
  expect(stdout).toBe("✓ 1 instance terminated\n");
  expect(stderr).toContain('✗ missing: There is no instance "missing".\n');
  expect(stderr).toContain('✗ old-0: Instance "old-0" has already ended.\n');
});

test("a thousand instances are changed by one command", async () => {
  const project = new Project();
  const perdure = await Perdure.open(`sqlite:${project.file}`, { autoStart: false });
  const ids = Array.from({ length: 1_200 }, (_, index) => `i-${index}`);
  await Promise.all(ids.map((id) => perdure.client.start("unregistered", null, { id })));
  await perdure.close();
  const paused = await project.run("pause --name unregistered --yes --json");
  expect(paused.json()).toMatchObject({ count: 1_200, done: 1_200, skipped: 0, refused: [] });
  const some = await project.run("terminate --status paused --limit 700 --yes");
  expect(some.stdout).toBe("✓ 700 instances terminated\n");
  expect(await (await project.client()).count({ status: "paused" })).toBe(500);
});
