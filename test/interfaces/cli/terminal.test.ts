// Output on a terminal: colours only where they belong, no control sequences from data, no crash when the pipe is
// closed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { orchestration, Perdure } from "../../../src/index.ts";
import { Project, runOnTerminal } from "./support.ts";

/**
 * A title, a colour, a bell, a delete, a C1 command, a direction override, a hidden tag, a line break, a lone
 * surrogate.
 */
const EVIL = "\x1b]0;pwned\x07\x1b[31m\x7f\x9b2J\u202e\u{e0041}\nline\ud800";
/** For attributes, which reject a lone surrogate. */
const WELL_FORMED = EVIL.replace("\ud800", "");
const UNSAFE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800]/;

async function evilStore(): Promise<Project> {
  const project = new Project();
  const evil = orchestration("evil", async (ctx) => {
    ctx.setStatus({ [EVIL]: EVIL });
    ctx.kv.set("key\u202e", EVIL);
    ctx.setAttributes({ attribute: WELL_FORMED });
    throw Object.assign(new Error(EVIL), { name: EVIL, stack: `${EVIL}\n    at ${EVIL}` });
  });
  const perdure = await Perdure.open(`sqlite:${project.file}`, {
    register: [evil],
    runtime: { log: () => undefined },
  });
  const handle = await perdure.client.start(evil, undefined, { id: "evil\u202eid" });
  await handle.result().catch(() => undefined);
  await perdure.client.start("unregistered\u202e", EVIL, {
    id: "live",
    attributes: { attribute: WELL_FORMED },
  });
  await perdure.client.get("live").pause({ reason: EVIL, by: EVIL });
  await perdure.close();
  return project;
}

describe("control characters in data are escaped", () => {
  const lines = [
    ["list"],
    ["get", "evil\u202eid"],
    ["get", "live"],
    ["history", "evil\u202eid"],
    ["watch", "evil\u202eid"],
    ["kv", "evil\u202eid"],
    ["metrics"],
    ["doctor"],
    ["get", "no\u001b[31mbody"],
    ["cancel", "live", "--dry-run"],
    ["terminate", "evil\u202eid", "--yes"],
    ["list", "--status", EVIL],
    ["\u001b[31mcommand"],
    ["list", "--\u001b[31moption"],
  ];

  test("in every text output", async () => {
    const project = await evilStore();
    const env = { PERDURE_STORE: `sqlite:${project.file}`, NO_COLOR: "1" };
    for (const line of lines) {
      const { stdout, stderr } = await runOnTerminal(line, { cwd: project.folder, env });
      expect(stdout + stderr).not.toBe("");
      expect(stdout + stderr).not.toMatch(UNSAFE);
    }
    const { stdout } = await runOnTerminal(["get", "live"], { cwd: project.folder, env });
    expect(stdout).toContain(
      "\\x1b]0;pwned\\x07\\x1b[31m\\x7f\\x9b2J\\u202e\\u{e0041}\\nline\\ud800",
    );
  });

  test("in JSON, which still decodes to the same value", async () => {
    const project = await evilStore();
    for (const line of [["list"], ["get", "live"], ["get", "evil\u202eid"], ["history", "live"]]) {
      const ran = await project.run([...line, "--json"]);
      expect(ran.stdout).not.toMatch(UNSAFE);
      expect(() => ran.json()).not.toThrow();
    }
    const { attributes } = (await project.run("get live --json")).json<{ attributes: object }>();
    expect(attributes).toEqual({ attribute: WELL_FORMED });
  });

  test("in a worker's log lines", async () => {
    const config = `
      import { defineConfig, orchestration } from "perdure";
      export default defineConfig({
        register: [orchestration("log", async (ctx) => ctx.log.info(${JSON.stringify(EVIL)}, {
          field: ${JSON.stringify(EVIL)}, error: new Error(${JSON.stringify(EVIL)}),
        }))],
      });`;
    const project = new Project({ "perdure.config.ts": config });
    const worker = project.start("worker");
    await worker.says(/worker ready/);
    await (await project.client()).start("log");
    await worker.says(/line\\ud800/);
    worker.kill("SIGTERM");
    await worker.ended;
    expect(worker.stdout()).not.toMatch(UNSAFE);
  });
});

describe("colours", () => {
  const escape = "\x1b[";

  test("are on for a terminal, unless NO_COLOR or TERM=dumb disables them", async () => {
    const project = await evilStore();
    const stdout = async (env: NodeJS.ProcessEnv) => {
      const store = { PERDURE_STORE: `sqlite:${project.file}` };
      return (await runOnTerminal("list", { cwd: project.folder, env: { ...store, ...env } }))
        .stdout;
    };
    expect(await stdout({})).toContain(escape);
    expect(await stdout({ NO_COLOR: "1" })).not.toContain(escape);
    expect(await stdout({ NO_COLOR: "1", FORCE_COLOR: "1" })).not.toContain(escape);
    expect(await stdout({ TERM: "dumb" })).not.toContain(escape);
    expect(await stdout({ FORCE_COLOR: "0" })).not.toContain(escape);
  });

  test("are off in a pipe, unless FORCE_COLOR enables them", async () => {
    const project = await evilStore();
    const stdout = async (line: string, env = {}): Promise<string> =>
      (await project.run(line, { env, asProcess: true })).stdout;
    expect(await stdout("list")).not.toContain(escape);
    expect(await stdout("list", { FORCE_COLOR: "1" })).toContain(escape);
    expect(await stdout("list --json", { FORCE_COLOR: "1" })).not.toContain(escape);
  });
});

test("a table is cut to the width of a terminal, but never in a pipe", async () => {
  const project = new Project();
  const client = await project.client();
  const id = "x".repeat(200);
  await client.start("unregistered", undefined, { id });
  const env = { PERDURE_STORE: `sqlite:${project.file}`, NO_COLOR: "1" };
  const shown = await runOnTerminal("list", { cwd: project.folder, env });
  const widths = shown.stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(80);
  expect(shown.stdout).toContain("…");
  expect((await project.run("list")).stdout).toContain(id);
});

test("a closed pipe is not an error", async () => {
  const project = new Project();
  const client = await project.client();
  const starts = Array.from({ length: 900 }, (_, index) =>
    client.start("unregistered", "x".repeat(2_000), {
      id: `instance-${index}`,
      attributes: { index: `${index}` },
    }),
  );
  await Promise.all(starts);
  const main = new URL("../../../src/cli/main.ts", import.meta.url).pathname;
  const args = [main, "list", "--limit", "1000", "--json", "--store", `sqlite:${project.file}`];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdout.once("data", () => child.stdout.destroy());
  const [code] = (await once(child, "close")) as [number];
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});
