// perdure worker, dev, ui and init: worker processes that run, are killed, are replaced, and shut down.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileProject, linkNodeTypes } from "./compile-project.ts";
import { projectRoot } from "../../support/source-files.ts";
import { Project, until, type Background } from "./support.ts";

/** Its result shows which processes ran it, and its input sets its duration. */
const CONFIG = `
import { activity, defineConfig, orchestration } from "perdure";
const work = activity("work", async (ms: number, { log }) => {
  log.info("work begun");
  await new Promise((resolve) => setTimeout(resolve, ms));
  return process.pid;
});
const steps = orchestration("steps", async (ctx, count: number) => {
  const pids: number[] = [];
  for (let step = 0; step < count; step++) pids.push(await ctx.run(work, 50));
  return pids;
});
const slow = orchestration("slow", async (ctx, ms: number) => ctx.run(work, ms));
export default defineConfig({ register: [steps, slow, work] });
`;

/** The pids of the worker processes, from their log lines. */
const readyPids = (worker: Background): number[] =>
  [...worker.stdout().matchAll(/worker ready.*"pid":(\d+)/g)].map(([, pid]) => Number(pid));

/** The status that the health port answers. */
async function probe(port: string | undefined, path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/${path}`);
  await response.arrayBuffer();
  return response.status;
}

describe("perdure worker", () => {
  test("two processes: one is killed, its work continues, it is replaced, and all exit on SIGTERM", async () => {
    const project = new Project({ "perdure.config.ts": CONFIG });
    const worker = project.start("worker --processes 2 --json --health-port 0");
    const [, port] = await worker.says(/health port open.*"port":(\d+)/);
    await worker.says(/worker ready/, 2);
    await until(async () => (await probe(port, "readyz")) === 200);
    const client = await project.client();
    const handles = await Promise.all(
      Array.from({ length: 8 }, (_, index) => client.start("steps", 20, { id: `s-${index}` })),
    );
    const [victim = 0, other = 0] = readyPids(worker);
    process.kill(victim, "SIGKILL");
    await worker.says(/"a worker process exited; starting another one"/);
    const results = await Promise.all(handles.map((handle) => handle.result({ timeout: "40s" })));
    expect(results.map((pids) => (pids as number[]).length)).toEqual(Array(8).fill(20));
    await worker.says(/worker ready/, 3);
    // The row of the killed process stays until another worker has declared it dead.
    await until(async () => (await client.runtimes()).length === 2);
    const nodes = (await client.runtimes()).map(({ pid }) => pid);
    expect(nodes.toSorted()).toEqual([other, readyPids(worker)[2]].toSorted());

    worker.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    expect(await client.runtimes()).toEqual([]); // all deregistered
    const lines = worker
      .stdout()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly message: string });
    expect(lines.find(({ message }) => message === "worker ready")).toEqual({
      time: expect.stringMatching(/Z$/),
      level: "info",
      message: "worker ready",
      pid: expect.any(Number),
      fields: expect.objectContaining({ orchestrations: 2, activities: 1 }),
    });
  });

  test("lets running work finish within the grace period, and hands back work that takes longer", async () => {
    const project = new Project({ "perdure.config.ts": CONFIG });
    const client = await project.client();
    const first = project.start("worker --grace 20s --health-port 0");
    const [, port] = await first.says(/health port open port=(\d+)/);
    await first.says(/info {2}worker ready/);
    expect(await probe(port, "readyz")).toBe(200);
    const quick = await client.start("slow", 1_500);
    await first.says(/work begun/); // a task that is leased and not begun is handed back at once
    first.kill("SIGINT");
    await first.says(/shutting down/);
    expect([await probe(port, "healthz"), await probe(port, "readyz")]).toEqual([200, 503]);
    expect(await probe(port, "instances")).toBe(404);
    expect(await first.ended).toBe(0);

    const second = project.start("worker --grace 100ms");
    await second.says(/worker ready/);
    expect(await quick.result()).toBe(first.pid); // it did not run again
    const long = await client.start("slow", 60_000);
    await until(async () => (await client.metrics()).runningTasks === 1);
    second.kill("SIGTERM");
    expect(await second.ended).toBe(0); // a worker that waited for the end of the work would have been killed
    expect(await long.describe()).toMatchObject({ status: "running" });
    expect((await client.metrics()).runningTasks).toBe(0);
  });

  test("an invalid config ends the worker and its processes with its exit code", async () => {
    const empty = new Project({ "perdure.config.ts": "export default { register: [] };" });
    const nothing = await empty.run("worker");
    expect(nothing).toMatchObject({ code: 2 });
    expect(nothing.stderr).toContain("registers no orchestrations or activities");
    const twice = `
      import { defineConfig, orchestration } from "perdure";
      const one = () => orchestration("same", async () => 1);
      export default defineConfig({ register: [one(), one()], runtime: {} });`;
    const broken = new Project({ "perdure.config.ts": twice });
    const several = await broken.run("worker --processes 2");
    expect(several).toMatchObject({ code: 2 });
    expect(several.stderr).toContain('orchestration "same" 1.0.0 is defined twice');
    expect(await new Project().run("worker")).toMatchObject({ code: 2 });
    const memory = new Project({ "perdure.config.ts": CONFIG });
    const shared = await memory.run("worker sqlite::memory: --processes 2");
    expect(shared).toMatchObject({ code: 2 });
    expect(shared.stderr).toContain("Several processes cannot share an in-memory store");
  });

  test("none of its processes outlives a killed supervisor", async () => {
    const project = new Project({ "perdure.config.ts": CONFIG });
    const worker = project.start("worker --processes 2 --grace 100ms");
    await worker.says(/worker ready/, 2);
    const client = await project.client();
    expect(await client.runtimes()).toHaveLength(2);
    worker.kill("SIGKILL");
    await worker.ended;
    await until(async () => (await client.runtimes()).length === 0); // they deregistered
  });
});

describe("perdure init", () => {
  test("creates a project that runs, and overwrites nothing", async () => {
    const project = new Project();
    const env = { PERDURE_STORE: "" };
    const made = await project.run("init --json", { env });
    expect(made.json()).toEqual({
      store: "sqlite:./perdure.db",
      files: ["perdure.config.ts", "orchestrations/hello.ts", "tsconfig.json"],
    });
    const before = readFileSync(join(project.folder, "perdure.config.ts"), "utf8");
    const again = await project.run("init --js", { env });
    expect(again).toMatchObject({ code: 4, stdout: "" });
    expect(again.stderr).toContain("perdure.config.ts already exists");
    expect(readFileSync(join(project.folder, "perdure.config.ts"), "utf8")).toBe(before);

    const worker = project.start("worker", { env });
    await worker.says(/worker ready/);
    const start = ["start", "hello", "--id", "h", "--input", '"ada"', "--event", 'answer="hi"'];
    const { code, stdout } = await project.run([...start, "--wait", "--json"], { env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ output: { greeting: "Hello, ada!", answer: "hi" } });
    worker.kill("SIGTERM");
    await worker.ended;
  });

  test("writes .mts files where .ts files are CommonJS, and JavaScript on request", async () => {
    const common = new Project();
    common.write("package.json", '{"name":"old","type":"commonjs"}');
    const first = await common.run("init");
    expect(first.stdout).toMatch(/✓ perdure\.config\.mts\n✓ orchestrations\/hello\.mts\n/);
    expect(first.stdout).toContain("npm install perdure");
    await common.run("migrate", { env: { PERDURE_STORE: "" } });
    expect(await common.run("check", { env: { PERDURE_STORE: "" } })).toMatchObject({ code: 0 });
    const script = new Project();
    expect((await script.run("init --js")).stdout).toContain("✓ perdure.config.mjs\n");
    await script.run("migrate", { env: { PERDURE_STORE: "" } });
    expect(await script.run("check", { env: { PERDURE_STORE: "" } })).toMatchObject({ code: 0 });
  });

  test("an existing tsconfig.json stays as it is, and the output names the options that Node needs", async () => {
    const project = new Project({ "tsconfig.json": "{}" });
    const { code, stdout } = await project.run("init");
    expect(code).toBe(0);
    expect(readFileSync(join(project.folder, "tsconfig.json"), "utf8")).toBe("{}");
    expect(stdout).toContain(
      "Node needs these options: noEmit: true, allowImportingTsExtensions: true",
    );
  });

  test("its compiler options accept a second file, and reject syntax that Node cannot run", async () => {
    const project = new Project({
      "second.ts": `
        import { orchestration } from "perdure";
        import { hello, type Greeting } from "./orchestrations/third.ts";
        export const twice = orchestration("twice", (ctx, name: Greeting) => ctx.call(hello, name));
      `,
      "orchestrations/third.ts": `
        export { hello } from "./hello.ts";
        export type Greeting = string;
      `,
      "enum.ts": "export enum Colour { red }",
      "property.ts": "export class Money { constructor(readonly cents: number) {} }",
      "import.ts":
        'import { Greeting } from "./orchestrations/third.ts"; export type G = Greeting;',
    });
    await project.run("init");
    linkNodeTypes(project.folder);
    const problems = compileProject(project.folder);
    expect(problems).toEqual({
      "enum.ts": [1294],
      "import.ts": [1484],
      "property.ts": [1294],
    });
    const page = readFileSync(join(projectRoot, "docs/quick-start.md"), "utf8");
    const shown = /```json\n(\{\n {2}"compilerOptions"[^`]+)```/.exec(page)?.[1];
    const own = readFileSync(join(project.folder, "tsconfig.json"), "utf8");
    expect(JSON.parse(shown ?? "{}")).toEqual(JSON.parse(own));
  });
});

test("perdure ui serves the API on this machine, and ends on a signal", async () => {
  const project = new Project();
  await project.run("migrate");
  await (await project.client()).start("unregistered", undefined, { id: "a" });
  const ui = project.start("ui --port 0 --json --base-path /ops");
  const [line = ""] = await ui.says(/^\{.*\}\n/);
  const { url, addresses, token } = JSON.parse(line) as Record<string, string>;
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(addresses).toContain("127.0.0.1");
  expect((await fetch(`${url}/api/v1/instances`)).status).toBe(401);
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/api/v1/instances`, { headers });
  expect(await answer.json()).toMatchObject({ items: [{ id: "a" }] });
  expect((await fetch(`${url}/ops/api/v1/instances`, { headers })).status).toBe(200);
  const page = await fetch(`${url}/`, { headers: { accept: "text/html" } });
  expect(await page.text()).toContain('<base href="/ops/">');
  const taken = await project.run(`ui --port ${new URL(url ?? "").port}`);
  expect(taken).toMatchObject({ code: 2 });
  expect(taken.stderr).toContain("The port is already in use");
  expect(await project.run("ui --host 0.0.0.0 --port 0")).toMatchObject({ code: 2 });
  ui.kill("SIGINT");
  expect(await ui.ended).toBe(0);
});

test("perdure dev runs the worker with the dashboard, and reloads changed files", async () => {
  const config = `
    import { defineConfig } from "perdure";
    import { answer } from "./answer.ts";
    export default defineConfig({ register: [answer] });`;
  const answer = (text: string) => `
    import { orchestration } from "perdure";
    export const answer = orchestration("answer", async () => ${text});`;
  const project = new Project({ "perdure.config.ts": config, "answer.ts": answer("1") });
  const dev = project.start("dev --port 0");
  await dev.says(/dashboard url=http:\/\/127\.0\.0\.1:\d+\/#token=/);
  await dev.says(/worker ready/);
  const client = await project.client();
  const result = async (): Promise<unknown> => (await client.start("answer")).result();
  expect(await result()).toBe(1);
  project.write("answer.ts", answer("2"));
  await dev.says(/answer\.ts changed: reloading/);
  await dev.says(/worker ready/, 2);
  expect(await result()).toBe(2);
  project.write("answer.ts", answer("(")); // a mistake
  await dev.says(/cannot be loaded/);
  await dev.says(/the worker exited; restarting in 1 s/);
  project.write("answer.ts", answer("3"));
  await dev.says(/worker ready/, 3);
  expect(await result()).toBe(3);
  dev.kill("SIGTERM");
  expect(await dev.ended).toBe(0);
  expect(await client.runtimes()).toEqual([]);
});

test("perdure dev replaces a killed worker, and waits longer each time the worker dies at startup", async () => {
  const project = new Project({ "perdure.config.ts": CONFIG });
  const dev = project.start("dev --no-ui --json");
  await dev.says(/worker ready/);
  const client = await project.client();
  process.kill(readyPids(dev)[0] ?? 0, "SIGKILL");
  await dev.says(/restarting in 1 s.*"signal":"SIGKILL"/);
  await dev.says(/worker ready/, 2);
  const handle = await client.start("steps", 1);
  expect(await handle.result({ timeout: "30s" })).toEqual([readyPids(dev)[1]]);
  project.write("perdure.config.ts", "process.exit(3);");
  await dev.says(/restarting in 1 s.*"code":3/);
  await dev.says(/restarting in 2 s.*"code":3/);
  await dev.says(/restarting in 4 s.*"code":3/);
  project.write("perdure.config.ts", CONFIG);
  await dev.says(/perdure\.config\.ts changed: reloading/, 2);
  await dev.says(/worker ready/, 3);
  dev.kill("SIGTERM");
  expect(await dev.ended).toBe(0);
});
