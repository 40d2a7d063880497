// perdure queues and perdure enqueue: figures, pauses, retries of failed jobs, and jobs by name.

import * as v from "valibot";
import { describe, expect, onTestFinished, test } from "vitest";
import { job, Perdure } from "../../../src/index.ts";
import { queueDetail } from "../../../src/server/schemas/queues.ts";
import { Project, runOnTerminal, until, type Screens } from "../cli/support.ts";

const mailServer = { isDown: false };
const mail = job(
  "mail",
  async (to: string) => {
    if (mailServer.isDown) throw new Error("down");
    return `sent to ${to}`;
  },
  { limit: { concurrency: 2, rate: { count: 1_000, per: "1m" } } },
);

/** A project with a worker, and the program on a terminal. */
async function working(): Promise<{
  project: Project;
  perdure: Perdure;
  run: (line: string | readonly string[], typed?: string) => Promise<Screens>;
}> {
  const project = new Project();
  const store = `sqlite:${project.file}`;
  const perdure = await Perdure.open(store, {
    register: [mail],
    runtime: { log: () => undefined },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  const env = { NO_COLOR: "1", PERDURE_STORE: store };
  const run = (line: string | readonly string[], typed = ""): Promise<Screens> =>
    runOnTerminal(line, { cwd: project.folder, env, typed });
  return { project, perdure, run };
}

describe("perdure queues", () => {
  test("pauses, shows and resumes a queue", async () => {
    const { perdure, run } = await working();
    const paused = await run([
      "queues",
      "mail",
      "--pause",
      "--reason",
      "bank holiday",
      "--by",
      "ada",
    ]);
    expect(paused).toEqual({ code: 0, stdout: "✓ queue mail paused\n", stderr: "" });
    const ids = await perdure.client.enqueueMany(mail, [
      { input: "a", key: "t-1" },
      { input: "b", key: "t-1" },
      { input: "c", key: "t-2" },
    ]);
    const list = await run("queues");
    expect(list.stdout).toMatch(/^mail +3 +0 +0 .* +0 +paused +2 at a time, 1/m);
    expect(list.stdout).toMatch(/^! mail was paused .* ago by ada: bank holiday$/m);
    const one = await run("queues mail");
    expect(one.stdout).toMatch(/^depth +3$/m);
    expect(one.stdout).toMatch(/^limit +2 at a time, 1000 per 1m$/m);
    expect(one.stdout).toMatch(/^t-1 +2 +0\nt-2 +1 +0$/m);
    const json = JSON.parse((await run("queues mail --json")).stdout) as unknown;
    expect(v.parse(queueDetail, json)).toMatchObject({ name: "mail", depth: 3 });
    expect(JSON.parse((await run("queues --json")).stdout)).toMatchObject({
      queues: [{ name: "mail", paused: { reason: "bank holiday", by: "ada" } }],
    });
    expect((await run("doctor")).stdout).toContain("1 queue paused: mail (3 waiting)");
    expect((await run("queues mail --resume")).stdout).toBe("✓ queue mail resumed\n");
    for (const id of ids) expect(await perdure.client.get(id).result()).toMatch(/^sent to/);
  });

  test("warns about a pause of a queue that no worker registers", async () => {
    const { run } = await working();
    const { code, stderr } = await run("queues mial --pause");
    expect(code).toBe(0);
    expect(stderr).toContain('no running worker registers activity "mial". Did you mean "mail"?');
  });

  test("retries the failed jobs after a confirmation", async () => {
    const { perdure, run } = await working();
    mailServer.isDown = true;
    onTestFinished(() => void (mailServer.isDown = false));
    const ids = await perdure.client.enqueueMany(mail, ["a", "b", "c"]);
    await until(async () => (await perdure.client.queue("mail")).failures === 3);
    expect((await run("queues mail --retry-failed --dry-run")).stdout).toBe(
      `Would retry 3 failed jobs:\n${ids.map((id) => `  ${id}\n`).join("")}`,
    );
    mailServer.isDown = false;
    const refused = await run("queues mail --retry-failed", "n\n");
    expect(refused.code).toBe(9);
    expect(refused.stderr).toContain("Retry 3 failed jobs? [y/N]");
    const first = await run("queues mail --retry-failed --limit 1 --yes --json");
    expect(JSON.parse(first.stdout)).toEqual({
      action: "retry",
      count: 1,
      done: 1,
      skipped: 0,
      refused: [],
      cursor: expect.any(String),
    });
    expect((await run("queues mail --retry-failed --by ada", "y\n")).stdout).toBe(
      "✓ 2 failed jobs retried\n",
    );
    for (const id of ids) expect(await perdure.client.get(id).result()).toMatch(/^sent to/);
    const { repairs } = await perdure.client.get(ids.at(-1) ?? "").describe();
    expect(repairs).toMatchObject([{ by: "ada", reason: "retried from the command line" }]);
    expect((await run("queues mail --retry-failed")).stdout).toBe("Nothing to do.\n");
  });

  test("refuses options that do not belong together", async () => {
    const { run } = await working();
    for (const [line, message] of [
      ["queues --pause", "Name the queue: perdure queues <name> --pause"],
      ["queues mail --pause --resume", "--pause and --resume cannot be used together."],
      ["queues mail --reason x", "--reason has a meaning only with --pause or --retry-failed."],
      ["queues mail --resume --yes", "--yes has a meaning only with --retry-failed."],
      ["queues sqlite:./x.db", "pass the store with --store sqlite:./x.db"],
    ] as const) {
      const { code, stderr } = await run(line);
      expect([line, code, stderr.includes(message)]).toEqual([line, 2, true]);
    }
  });
});

describe("perdure enqueue", () => {
  test("enqueues a job by name and prints its id", async () => {
    const { project, perdure, run } = await working();
    const { code, stdout } = await project.run(["enqueue", "mail", '"ada"', "--id", "m-1"]);
    expect([code, stdout]).toEqual([0, "m-1\n"]);
    expect(await perdure.client.get("m-1").result()).toBe("sent to ada");
    const options = "--key t-1 --priority 2 --attribute team=blue --request-id r --json";
    const lines = ["enqueue", "mail", '"bob"', ...options.split(" ")];
    const { id } = JSON.parse((await run(lines)).stdout) as { id: string };
    expect(JSON.parse((await run(lines)).stdout)).toEqual({ id });
    expect(await perdure.client.get(id).describe()).toMatchObject({
      priority: 2,
      attributes: { team: "blue" },
    });
    const unique = ["enqueue", "mail", '"eve"', "--unique", "eve", "--delay", "1h", "--json"];
    const one = (await run(unique)).stdout;
    expect((await run(unique)).stdout).toBe(one);
    expect(await run([...unique, "--on-conflict", "fail"])).toMatchObject({ code: 4 });
    expect(await run("enqueue mail --id m-1")).toMatchObject({ code: 4 });
    expect(await run("enqueue mail --on-conflict fail")).toMatchObject({ code: 2 });
  });

  test("warns about a job that no running worker accepts, with a similar name", async () => {
    const { run } = await working();
    const { code, stdout, stderr } = await run("enqueue mial 1 --id typo");
    expect([code, stdout]).toEqual([0, "✓ typo enqueued\n"]);
    expect(stderr).toBe(
      '! typo waits: no running worker accepts job "mial". Did you mean "mail"? See: perdure get typo\n',
    );
  });
});
