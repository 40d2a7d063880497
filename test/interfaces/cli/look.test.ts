// Commands that only read: their output, and the JSON that scripts rely on.

import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import * as v from "valibot";
import { flow } from "../../../src/flow/index.ts";
import { activity, Client, event, orchestration, Perdure } from "../../../src/index.ts";
import { historyEvent } from "../../../src/server/schemas/history.ts";
import { instance, summary } from "../../../src/server/schemas/instance.ts";
import { queue } from "../../../src/server/schemas/queues.ts";
import { keptPage, metrics, runtime } from "../../../src/server/schemas/store.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { Project, runOnTerminal, until } from "./support.ts";

const charge = activity("charge", async (cents: number) => ({ receipt: `r-${cents}` }));
const approval = event<{ by: string }>("approval");
const pay = orchestration("pay", async (ctx, cents: number) => {
  ctx.setStatus({ step: "paying" });
  ctx.kv.set("paid", { at: new Date(0), cents });
  const receipt = await ctx.run(charge, cents);
  const by = await ctx.waitFor(approval);
  return { receipt, by };
});

/** One instance that waits for an event, one completed, one failed, and one that no worker runs. */
async function filled(): Promise<Project> {
  const project = new Project();
  const failing = orchestration("fail", async () => {
    throw new TypeError("no such thing");
  });
  const perdure = await Perdure.open(`sqlite:${project.file}`, {
    register: [pay, charge, failing],
    runtime: { log: () => undefined },
  });
  const { client } = perdure;
  await client.start(pay, 5, { id: "waiting", attributes: { customer: "42" }, priority: 2 });
  const done = await client.start(pay, 7, { id: "done", events: [{ name: "approval", data: {} }] });
  await done.result();
  const failed = await client.start(failing, undefined, { id: "failed" });
  await failed.result().catch(() => undefined);
  await until(async () => {
    const { waitingFor } = await client.get("waiting").describe();
    return waitingFor.some(({ kind }) => kind === "event");
  });
  await perdure.close();
  const later = await Perdure.open(`sqlite:${project.file}`, { autoStart: false });
  await later.client.start("unknown", null, { id: "unclaimed" });
  await later.close();
  return project;
}

describe("perdure list", () => {
  test("searches by tests of attributes, text and three orders, and counts by status and name", async () => {
    const project = await filled();
    const start = "start pay --input 9 --id typed --attribute note=x --attribute cents:=1500";
    expect(await project.run(`${start} --attribute due:=2030-01-31`)).toMatchObject({ code: 0 });
    const ids = async (options: string): Promise<readonly string[]> => {
      const { stdout, stderr } = await project.run(`list --json ${options}`);
      expect(stderr).toBe("");
      return (JSON.parse(stdout) as { items: { id: string }[] }).items.map(({ id }) => id);
    };
    expect(await ids("--where cents>=1000 --where cents<2000")).toEqual(["typed"]);
    expect(await ids("--where due>2030-01-01 --where note^=x")).toEqual(["typed"]);
    expect(await ids("--where customer=42")).toEqual([]); // the number
    expect(await ids('--where customer="42" --where !cents')).toEqual(["waiting"]);
    expect(await ids("--text PAY --order oldest")).toEqual(["waiting", "done", "typed"]);
    expect(await ids("--order-by completed --status ended")).toEqual(["failed", "done"]);
    const counts = await project.run("counts --json");
    expect(JSON.parse(counts.stdout)).toMatchObject({
      items: expect.arrayContaining([
        { name: "pay", status: "completed", count: 1 },
        { name: "unknown", status: "pending", count: 1 },
      ]),
    });
    expect((await project.run("counts --by name")).stdout).toMatch(/^NAME +INSTANCES\n/);
    for (const wrong of ["list --where >5", "list --order-by id", "counts --by id"]) {
      expect(await project.run(wrong), wrong).toMatchObject({ code: 2 });
    }
  });

  test("shows instances as a table, newest first, and filters them", async () => {
    const project = await filled();
    const all = await project.run("list");
    expect(all.code).toBe(0);
    const lines = all.stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^ID +NAME +VERSION +STATUS +RUN +CREATED +UPDATED$/);
    expect(lines.slice(1).map((line) => line.split(/ +/)[0])).toEqual([
      ...["unclaimed", "failed", "done", "waiting"],
    ]);
    const some = await project.run(
      "list --status ended,running --name pay --attribute customer=42",
    );
    expect(some.stdout).toContain("waiting");
    expect(some.stdout).not.toContain("done");
    const none = await project.run("list --created-before 1d");
    expect(none).toMatchObject({ code: 0, stdout: "No instances match.\n" });
  });

  test("--json has the shape of the HTTP API, page by page", async () => {
    const project = await filled();
    const first = (await project.run("list --json --limit 3")).json<{
      items: { id: string }[];
      cursor: string;
    }>();
    expect(Object.keys(first)).toEqual(["items", "cursor"]);
    expect(first.items[1]).toEqual({
      id: "failed",
      name: "fail",
      version: "1.0.0",
      status: "failed",
      execution: 1,
      customStatusVersion: 0,
      attributes: {},
      priority: 3,
      error: { kind: "failed", name: "TypeError", message: "no such thing" },
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: expect.any(String),
      completedAt: expect.any(String),
    });
    for (const item of first.items) v.parse(summary, item);
    const second = await project.run(["list", "--json", "--cursor", first.cursor]);
    expect(second.json()).toMatchObject({ items: [{ id: "waiting" }] });
    expect(second.json()).not.toHaveProperty("cursor");
    expect((await project.run("list --status live --count --json")).json()).toEqual({ count: 2 });
  });

  test.each([
    ["list --status nonsense", /must be one of pending, running/],
    ["list --limit 0", /whole number of at least 1/],
    ["list --order sideways", /newest or oldest/],
    ["list --created-after yesterday", /date such as/],
    ["list --attribute x", /name=value/],
    ["list --parent a --roots", /cannot be used together/],
    ["list order-7", /not the address of a store/],
    ["list --nonsense", /unknown option '--nonsense'/],
    ["list sqlite:a sqlite:b", /too many arguments/],
  ])("%s is refused before the store is opened", async (line, message) => {
    const { folder } = new Project();
    const { code, stdout, stderr } = await runOnTerminal(line, { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  test("a cursor that no list returned is refused", async () => {
    const project = await filled();
    expect(await project.run("list --cursor nonsense")).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("perdure get", () => {
  test("shows the attempt and the last error of retried work, for an activity and a step", async () => {
    const project = new Project();
    const busy = (): never => {
      throw new Error("the bank is busy");
    };
    const retry = { maxAttempts: 9, backoff: { kind: "fixed", base: "1h" } } as const;
    const settle = activity("settle", async () => busy(), { retry });
    const close = orchestration("close", async (ctx) =>
      ctx.all([ctx.run(settle), ctx.step("book", busy, { retry })]),
    );
    await using perdure = await Perdure.open(`sqlite:${project.file}`, {
      register: [close, settle],
      runtime: { log: () => undefined },
    });
    const handle = await perdure.client.start(close, undefined, { id: "close-1" });
    await until(async () => {
      const { waitingFor } = await handle.describe();
      return waitingFor.filter((wait) => "attempt" in wait && wait.attempt === 2).length === 2;
    });
    const { stdout } = await project.run("get close-1");
    for (const name of ["settle", "book"]) {
      expect(stdout).toMatch(
        new RegExp(`${name}, retrying, attempt 2 last error: the bank is busy`),
      );
    }
  });

  test("names the node of a flow that waits, for activities, events, timers and children", async () => {
    const project = new Project();
    const child = orchestration("ship", (ctx, _days: number) => ctx.waitFor("shipped"));
    const trip = flow<number>("trip")
      .fork({
        book: (f) => f.then("hotel", () => new Promise<string>(() => undefined)),
        ask: (f) => f.waitFor("answer", approval, { timeout: "2d" }),
        rest: (f) => f.delay("night", "8h"),
        send: (f) => f.child("parcel", child),
      })
      .build();
    const perdure = await Perdure.open(`sqlite:${project.file}`, {
      register: [trip, child],
      runtime: { log: () => undefined },
    });
    const handle = await perdure.client.start(trip, 5, { id: "trip-1" });
    await until(async () => (await handle.describe()).waitingFor.length === 5);
    const { stdout } = await project.run("get trip-1");
    for (const line of [
      /#\d+ activity fork\.book\/hotel, attempt 1/,
      /#\d+ event approval of node fork\.ask\/answer$/,
      /#\d+ timer fork\.ask\/answer until /,
      /#\d+ timer fork\.rest\/night until /,
      /#\d+ child ship of node fork\.send\/parcel as /,
    ]) {
      expect(stdout).toMatch(new RegExp(line.source, "m"));
    }
    expect(stdout).toMatch(/… timer fork\.rest\/night +▒/);
    await perdure.close({ graceMs: 0 });
  });

  test("marks a dead worker", async () => {
    const project = new Project();
    const provider = await SqliteProvider.open(project.file);
    const client = new Client(provider);
    const registered = JSON.stringify({ activities: [], orchestrations: {}, staleMs: 5_000 });
    const identity = { nodeId: "node", hostname: "host", process: null, registered };
    await provider.registerRuntime({ id: "worker-a", ...identity });
    await client.start("unregistered", undefined, { id: "held" });
    const lease = { owner: "worker-a", token: 1, limit: 1, allowSuspect: false, messagesMax: 10 };
    const { instances } = await provider.leaseInstances({ ...lease, targets: ["unregistered"] });
    expect(instances).toHaveLength(1);
    expect((await project.run("get held")).stdout).toMatch(/^worker +worker-a$/m);
    expect((await project.run("get held --json")).json()).toMatchObject({
      heldBy: { id: "worker-a", alive: true },
    });
    const sql = (text: string): void => {
      using database = new DatabaseSync(project.file);
      database.exec(text);
    };
    sql("UPDATE runtimes SET beat_at = beat_at - 40000");
    expect((await project.run("get held")).stdout).toMatch(
      /^worker +worker-a \(no heartbeat for 4\ds\)$/m,
    );
    expect((await project.run("get held --json")).json()).toMatchObject({
      heldBy: { id: "worker-a", alive: false, why: expect.stringContaining("no heartbeat") },
    });
    sql("DELETE FROM runtimes");
    expect((await project.run("get held")).stdout).toMatch(
      /^worker +worker-a \(no longer registered\)$/m,
    );
    await provider.close();
  });

  test("shows the status, the waits and the timeline", async () => {
    const project = await filled();
    const { code, stdout } = await project.run("get waiting --tree");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^waiting {2}pay 1\.0\.0 {2}running$/m);
    expect(stdout).toMatch(/^attributes +customer=42$/m);
    expect(stdout).toMatch(/^status +\{ step: 'paying' \}$/m);
    expect(stdout).toMatch(/#6 event approval/);
    expect(stdout).toMatch(/#4 ✓ activity charge +█/);
    expect(stdout).toMatch(/#6 … event approval +▒+ /);
    expect(stdout).toMatch(/^Tree\n {2}waiting {2}running$/m);
  });

  test("shows why an instance failed, with its stack", async () => {
    const project = await filled();
    const { stdout } = await project.run("get failed");
    expect(stdout).toMatch(/✗ failed failed: TypeError: no such thing\n {4}at .*look\.test\.ts/);
  });

  test("--json is the API's instance with a timeline", async () => {
    const project = await filled();
    const shown = (await project.run("get waiting --json --tree")).json<Record<string, unknown>>();
    v.parse(instance, shown);
    expect(shown).toMatchObject({
      id: "waiting",
      status: "running",
      customStatus: { step: "paying" },
      waitingFor: [{ kind: "event", sequence: 6, name: "approval" }],
      timeline: {
        execution: 1,
        spans: [
          { sequence: 4, kind: "activity", name: "charge", outcome: "completed", attempts: 1 },
          { sequence: 6, kind: "event", name: "approval", outcome: "open" },
        ],
      },
      tree: { id: "waiting", status: "running", children: [] },
    });
    const plain = (await project.run("get done --json --no-timeline")).json();
    expect(plain).not.toHaveProperty("timeline");
    expect(plain).toMatchObject({ output: { receipt: { receipt: "r-7" }, by: {} } });
  });

  test("shows an instance with a damaged history without its timeline", async () => {
    const project = await filled();
    {
      using database = new DatabaseSync(project.file);
      database.exec("UPDATE history SET data = '{'");
    }
    const { code, stdout } = await project.run("get waiting");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^waiting {2}pay 1\.0\.0 {2}running$/m);
    const history = await project.run("history waiting");
    expect(history).toMatchObject({ code: 1, stdout: "" });
    expect(history.stderr).toContain("HISTORY_CORRUPT");
  });

  test("exits with 3 for an instance that does not exist", async () => {
    const project = await filled();
    const text = await project.run("get missing");
    expect(text).toMatchObject({ code: 3, stdout: "" });
    expect(text.stderr).toBe('error: There is no instance "missing". (INSTANCE_NOT_FOUND)\n');
    const json = await project.run("get missing --json");
    expect(json).toMatchObject({ code: 3, stdout: "" });
    expect(JSON.parse(json.stderr)).toEqual({
      error: { code: "INSTANCE_NOT_FOUND", message: 'There is no instance "missing".' },
    });
  });
});

describe("perdure history", () => {
  test("shows events in order, with their payloads", async () => {
    const project = await filled();
    const { stdout } = await project.run("history done");
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^ +#1 +\+0ms {2}OrchestrationStarted pay {2}7$/);
    expect(
      lines.some((line) => /ActivityCompleted of #\d+ {2}\{ receipt: 'r-7' \}/.test(line)),
    ).toBe(true);
    expect(lines.at(-1)).toContain("OrchestrationCompleted");
  });

  test("--json has decoded events in the shape of the API", async () => {
    const project = await filled();
    const shown = (await project.run("history done --json")).json<{ events: unknown[] }>();
    expect(shown).toMatchObject({ id: "done", execution: 1 });
    for (const one of shown.events) v.parse(historyEvent, one);
    expect(shown.events[0]).toMatchObject({ sequence: 1, kind: "OrchestrationStarted", input: 7 });
    const missing = await project.run("history done --execution 9");
    expect(missing).toMatchObject({ code: 3 });
  });
});

describe("perdure watch", () => {
  test("ends with the instance: exit code 0 if it completed, 6 if not; one JSON document per line", async () => {
    const project = await filled();
    const done = await project.run("watch done --json");
    expect(done.code).toBe(0);
    expect(done.records()).toMatchObject([{ id: "done", status: "completed" }]);
    v.parse(instance, done.records()[0]);
    const failed = await project.run("watch failed");
    expect(failed.code).toBe(6);
    expect(failed.stdout).toMatch(/failed\n✗ failed failed: TypeError: no such thing/);
  });

  test("shows changes as they happen, and exits without an error when it is interrupted", async () => {
    const project = await filled();
    const watching = project.start("watch waiting");
    await watching.says(/running {2}\{ step: 'paying' \}\n +#6 event approval/);
    await (await project.client()).get("waiting").pause("lunch");
    await watching.says(/paused/);
    watching.kill("SIGINT");
    expect(await watching.ended).toBe(130);
    expect(watching.stderr()).toBe("");
  });
});

describe("perdure kv", () => {
  test("shows all key-values, or only one", async () => {
    const project = await filled();
    const all = await project.run("kv waiting");
    expect(all.stdout).toMatch(/^paid +\{ at: 1970-01-01T00:00:00\.000Z, cents: 5 \}$/m);
    const value = { $perdure: { at: ["~d", 0], cents: 5 } };
    expect((await project.run("kv waiting --json")).json()).toEqual({
      id: "waiting",
      entries: [{ key: "paid", value }],
    });
    expect((await project.run("kv waiting paid --json")).json()).toEqual({
      id: "waiting",
      key: "paid",
      value,
    });
    expect(await project.run("kv waiting nothing")).toMatchObject({ code: 3 });
    expect(await project.run("kv missing")).toMatchObject({ code: 3 });
  });
});

describe("perdure queues, runtimes, metrics", () => {
  test("show the waiting work, the live workers and the counts", async () => {
    const project = new Project();
    const perdure = await Perdure.open(`sqlite:${project.file}`, {
      register: [pay],
      runtime: { log: () => undefined, workerNodeId: "node-a" },
    });
    await perdure.client.start(pay, 5, { id: "a" });
    await until(async () => (await perdure.client.queues()).length > 0);
    const queues = (await project.run("queues --json")).json<{ queues: unknown[] }>();
    for (const one of queues.queues) v.parse(queue, one);
    const unclaimed = 'no running worker registers activity "charge"';
    const kinds = [{ tags: [], priority: 3, waiting: 1, running: 0, delayed: 0, unclaimed }];
    expect(queues.queues).toMatchObject([{ name: "charge", depth: 1, unclaimed, kinds }]);
    expect((await project.run("queues")).stdout).toContain(`! ${unclaimed}`);

    const runtimes = (await project.run("runtimes --json")).json<{ runtimes: unknown[] }>();
    for (const one of runtimes.runtimes) v.parse(runtime, one);
    expect(runtimes.runtimes).toMatchObject([
      {
        id: perdure.runtime.id,
        nodeId: "node-a",
        alive: true,
        registered: { orchestrations: [{ name: "pay", versions: ["1.0.0"] }] },
      },
    ]);
    expect((await project.run("runtimes")).stdout).toMatch(/node-a +yes/);

    const figures = (await project.run("metrics --json")).json();
    v.parse(metrics, figures);
    expect(figures).toMatchObject({
      instances: { running: 1, completed: 0 },
      waitingTasks: 1,
      unclaimed: [{ kind: "activity", name: "charge", reason: unclaimed }],
    });
    expect((await project.run("metrics")).stdout).toMatch(/^tasks waiting +1$/m);
    await perdure.close({ graceMs: 0 });
    expect((await project.run("runtimes")).stdout).toContain("No worker is registered.");
  });
});

describe("perdure kept", () => {
  test("lists events for instances that do not exist yet, and expired ones", async () => {
    const project = new Project();
    await (await SqliteProvider.open(project.file)).close();
    expect((await project.run("kept")).stdout).toBe("No events are kept.\n");
    const raised = await project.run("raise later approval --data 5 --keep --keep-for 2h");
    expect(raised.code).toBe(0);
    expect((await project.run("raise gone approval --keep --keep-for 1ms")).code).toBe(0);
    const found = await project.run("kept --json");
    const { items } = v.parse(keptPage, found.json());
    expect(items).toMatchObject([
      { id: "later", event: "approval", data: 5, expired: false },
      { id: "gone", event: "approval", expired: true },
    ]);
    const [kept] = items;
    expect(kept && kept.expiresAt.getTime() - kept.createdAt.getTime()).toBe(2 * 3_600_000);
    const lines = (await project.run("kept")).stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^ID +EVENT +RAISED +EXPIRES +DATA$/);
    expect(lines[1]).toMatch(/^later +approval +.* +\d{4}-.*Z +5$/);
    expect(lines[2]).toMatch(/^gone +approval +.* +expired/);
    expect((await project.run("kept --id later")).stdout).not.toContain("gone");
    const first = await project.run("kept --limit 1");
    const cursor = /--cursor (\S+)/.exec(first.stdout)?.[1] ?? "";
    expect((await project.run(`kept --cursor ${cursor}`)).stdout).toMatch(/^gone /m);
    const useless = await project.run("raise later approval --keep-for 2h");
    expect(useless.stderr).toContain("only with ifMissing");
  });
});
