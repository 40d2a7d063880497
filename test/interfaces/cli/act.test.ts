// Commands that change one instance: start, raise, cancel, terminate, pause, resume, retry, unblock, restart, fork.

import { describe, expect, test } from "vitest";
import {
  activity,
  event,
  orchestration,
  Perdure,
  type Handle,
  type Registrable,
} from "../../../src/index.ts";
import { digits } from "../../support/schemas.ts";
import { Project, runOnTerminal, until } from "./support.ts";

const CONFIG = `
  import { activity, defineConfig, orchestration } from "perdure";
  const positive = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) =>
        value > 0 ? { value } : { issues: [{ message: "is more than 0" }] },
    },
  };
  const charge = activity("charge", async (cents) => cents * 2);
  const fail = activity("fail", async () => { throw new Error("bank says no"); });
  export default defineConfig({
    register: [
      orchestration("pay", async (ctx, cents) => ctx.run(charge, cents), { input: positive }),
      orchestration("fail", async (ctx) => ctx.run(fail, null)),
      charge,
      fail,
    ],
  });
`;
const wait = orchestration("wait", async (ctx, input: unknown) => {
  const data = await ctx.waitFor("go");
  return { input, data };
});

/** A store with a runtime in the test process. */
async function running(
  ...more: readonly Registrable[]
): Promise<{ project: Project; perdure: Perdure }> {
  const project = new Project();
  const perdure = await Perdure.open(`sqlite:${project.file}`, {
    register: [wait, ...more],
    runtime: { log: () => undefined },
  });
  return { project, perdure };
}

describe("perdure start", () => {
  test("prints only the id, so that a script can use it", async () => {
    const { project, perdure } = await running();
    const { code, stdout } = await project.run("start wait");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[0-9a-f]{32}\n$/);
    const json = await project.run(["start", "wait", "--id", "a b", "--json"]);
    expect(json.json()).toEqual({ id: "a b" });
    await perdure.close({ graceMs: 0 });
  });

  test("warns about a name that no running worker registers, and suggests a similar one", async () => {
    const { project, perdure } = await running();
    const typo = await project.run("start wiat --id w");
    expect(typo).toMatchObject({ code: 0, stdout: "w\n" });
    expect(typo.stderr).toBe(
      '! w waits: no running worker registers orchestration "wiat". Did you mean "wait"? ' +
        "See: perdure get w\n",
    );
    const json = await project.run("start nothing --id n --json");
    expect(json).toMatchObject({ code: 0, stderr: "" });
    const warning =
      'n waits: no running worker registers orchestration "nothing". See: perdure get n';
    expect(json.json()).toEqual({ id: "n", warning });
    const waited = await project.run("start wiat --wait --on-blocked throw");
    expect(waited).toMatchObject({ code: 11 });
    expect(waited.stderr).toContain('registers orchestration "wiat". Did you mean "wait"? See:');
    await perdure.close({ graceMs: 0 });
    project.write("perdure.config.ts", CONFIG);
    const config = await project.run("start pai --id p");
    expect(config.stderr).toContain('"pai". Did you mean "pay"?'); // known from the config
    const known = await project.run("start fail --id f");
    expect(known.stderr).toContain('orchestration "fail". See: perdure get f');
  });

  test("takes input from the argument, from a file and from standard input", async () => {
    const { project, perdure } = await running();
    project.write("input.json", '{"from":"file"}');
    await project.run(["start", "wait", "--id", "a", "--input", '{"from":"line"}']);
    await project.run("start wait --id b --input @input.json");
    await project.run("start wait --id c --input -", { input: '{"from":"stdin"}' });
    await project.run(["start", "wait", "--id", "d", "--input", '{"$perdure":["~d",0]}']);
    const inputs: unknown[] = [];
    for (const id of ["a", "b", "c", "d"]) {
      const handle: Handle = perdure.client.get(id);
      await handle.raise("go");
      inputs.push(((await handle.result()) as { input: unknown }).input);
    }
    const from = (where: string) => ({ from: where });
    expect(inputs).toEqual([from("line"), from("file"), from("stdin"), new Date(0)]);
    await perdure.close();
  });

  test("stores the context, and refuses one that is not an object", async () => {
    const { project, perdure } = await running();
    const env = { PERDURE_STORE: `sqlite:${project.file}`, NO_COLOR: "1" };
    const run = (line: readonly string[]) => runOnTerminal(line, { cwd: project.folder, env });
    const start = (context: string) => run(["start", "wait", "--id", "c", "--context", context]);
    const refused = await start("[1]");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("must be a plain object");
    expect(await start("{")).toMatchObject({ code: 2 });
    expect(await start('{"tenant":"acme"}')).toMatchObject({ code: 0 });
    const context = { tenant: "acme" };
    await expect.poll(() => perdure.client.get("c").describe()).toMatchObject({ context });
    const shown = await run(["get", "c"]);
    expect(shown.stdout).toMatch(/context +\{ tenant: 'acme' \}/);
    await perdure.close();
  });

  test("has the library's options", async () => {
    const { project, perdure } = await running();
    const args = ["start", "wait", "--id", "a", "--delay", "1h", "--priority", "1"];
    args.push("--attribute", "customer=a=b", "--event", "go=[1,2]", "--event", "stop");
    args.push("--of-version", "1.0.0", "--request-id", "r1");
    expect(await project.run(args)).toMatchObject({ code: 0 });
    expect(await project.run(args)).toMatchObject({ code: 0 }); // the same request
    const handle = perdure.client.get("a");
    expect(await handle.describe()).toMatchObject({
      status: "pending",
      priority: 1,
      version: "1.0.0",
      attributes: { customer: "a=b" },
    });
    expect((await handle.unread()).items).toEqual([
      { name: "go", data: [1, 2] },
      { name: "stop", data: undefined },
    ]);
    const again = await project.run("start wait --id a --on-conflict useExisting");
    expect(again).toMatchObject({ code: 0 });
    const taken = await project.run("start wait --id a");
    expect(taken).toMatchObject({ code: 4 });
    expect(taken.stderr).toContain("an --on-conflict policy. (INSTANCE_EXISTS)");
    await perdure.close({ graceMs: 0 });
  });

  test("reports bad JSON, a bad file and bad options, and starts nothing", async () => {
    const { project, perdure } = await running();
    const attempts: [string[], RegExp][] = [
      [
        ["start", "wait", "--input", "ada"],
        /--input must be JSON: .*Quote a string twice: '"ada"'/,
      ],
      [["start", "wait", "--input", "{"], /--input must be JSON/],
      [["start", "wait", "--input", "@nothing.json"], /ENOENT/],
      [["start", "wait", "--on-conflict", "replace"], /one of fail, useExisting/],
      [
        ["start", "wait", "--on-blocked", "fail"],
        /--on-blocked must be one of wait, throw; got "fail"/,
      ],
      [["start", "wait", "--delay", "1s", "--at", "2030-01-01"], /--delay or --at, not both/],
      [["start", "wait", "--delay", "soon"], /must be a duration/],
      [["start", "wait", "--at", "soon"], /date such as/],
      [["start", "wait", "--priority", "9"], /at most 5/],
      [["start", "wait", "--event", "go={"], /--event must be name=json/],
      [["start", "wait", "--id", "a::b"], /::/],
      [["start"], /missing required argument 'name'/],
    ];
    for (const [args, message] of attempts) {
      const env = { PERDURE_STORE: `sqlite:${project.file}` };
      const { code, stdout, stderr } = await runOnTerminal(args, { cwd: project.folder, env });
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
      expect(stderr).toMatch(message);
    }
    const stdin = await project.run("start wait --input -", { input: "no" });
    expect(stdin).toMatchObject({ code: 2 });
    expect(stdin.stderr).toContain("Standard input (--input) must be JSON");
    expect(await perdure.client.count()).toBe(0);
    await perdure.close();
  });

  test("--wait prints the result or the reason for its absence, and exits with 6, 7, 11 or 130", async () => {
    const project = new Project({ "perdure.config.ts": CONFIG });
    const worker = project.start("worker");
    await worker.says(/worker ready/);
    const good = await project.run("start pay --input 5 --wait");
    expect(good).toMatchObject({ code: 0, stdout: "10\n", stderr: "" });
    const json = await project.run("start pay --input 5 --wait --json");
    expect(json.json()).toMatchObject({ status: "completed", output: 10 });
    const bad = await project.run("start fail --wait --id f");
    expect(bad).toMatchObject({ code: 6, stdout: "" });
    expect(bad.stderr).toMatch(
      /✗ f failed: ActivityError in fail: bank says no\n.*perdure\.config\.ts/s,
    );
    const never = await project.run("start unregistered --wait --timeout 100ms --id m");
    expect(never).toMatchObject({ code: 7, stdout: "" });
    const why = 'no running worker registers orchestration "unregistered". See: perdure get m';
    expect(never.stderr).toContain(`! Instance "m" did not end: ${why}\n`);
    expect(never.stderr).toMatch(/error: Instance "m" did not end within \d+ms: no running worker/);
    expect(never.stderr).not.toContain("()");
    const refused = await project.run("start unregistered --wait --on-blocked throw --id o");
    expect(refused).toMatchObject({ code: 11, stdout: "" });
    expect(refused.stderr).toMatch(/^error: Instance "o" did not end: .*get o \(UNCLAIMED\)\n$/);
    const waiting = project.start("start unregistered --wait --id n");
    await waiting.says(/! Instance "n" did not end: no running worker/);
    waiting.kill("SIGINT");
    expect(await waiting.ended).toBe(130);
    worker.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
  });

  test("does not start an input that the config's schema refuses", async () => {
    const project = new Project({ "perdure.config.ts": CONFIG });
    await project.run("migrate");
    const { code, stderr } = await project.run("start pay --input -5");
    expect(code).toBe(2);
    expect(stderr).toContain("is more than 0");
    expect(await (await project.client()).count()).toBe(0);
  });
});

test("perdure raise sends an event once, also to an instance that does not exist yet", async () => {
  const { project, perdure } = await running();
  const handle = await perdure.client.start(wait, 1, { id: "a" });
  const raise = ["raise", "a", "go", "--data", '{"by":"ada"}', "--request-id", "r1"];
  expect(await project.run(raise)).toMatchObject({ code: 0, stdout: "✓ go sent to a\n" });
  expect(await handle.result()).toEqual({ input: 1, data: { by: "ada" } });
  expect(await project.run("raise a go")).toMatchObject({ code: 4 }); // it has ended
  expect(await project.run("raise b go")).toMatchObject({ code: 3 });
  expect((await project.run("raise b go --keep --json")).json()).toEqual({ id: "b", event: "go" });
  const later = await perdure.client.start(wait, 2, { id: "b" });
  expect(await later.result()).toMatchObject({ input: 2 });
  await perdure.close();
});

test("perdure get shows why a schema refused an event", async () => {
  const amount = event("amount", digits);
  const payer = orchestration("payer", async (ctx) => ctx.waitFor(amount));
  const { project, perdure } = await running(payer);
  const handle = await perdure.client.start(payer, undefined, { id: "p" });
  await expect.poll(async () => (await handle.describe()).waitingFor.length).toBe(1);
  await project.run(["raise", "p", "amount", "--data", '"twelve"']);
  await expect.poll(async () => (await handle.unread()).items[0]?.refused?.code).toBeDefined();
  const { stdout } = await project.run("get p");
  expect(stdout).toContain('Invalid event "amount": must be digits, got "twelve".');
  await perdure.close();
});

describe("an event that the instance does not wait for", () => {
  const approved = orchestration("approved", async (ctx) => {
    await ctx.step("prepare", async () => "ready");
    return ctx.waitFor("answer");
  });

  test("is sent, with a warning that says what the instance waits for", async () => {
    const project = new Project();
    const perdure = await Perdure.open(`sqlite:${project.file}`, { register: [approved] });
    const handle = await perdure.client.start(approved, undefined, { id: "h1" });
    await until(async () => (await handle.describe()).waitingFor[0]?.kind === "event");
    const sent = await project.run("raise h1 answr --data 1");
    expect(sent).toMatchObject({ code: 0, stdout: "✓ answr sent to h1\n" });
    expect(sent.stderr).toBe(
      '! h1 does not wait for the event "answr" now. It waits for the event "answer". ' +
        '"answr" stays unread until the code waits for it. See: perdure get h1\n',
    );
    const json = await project.run("raise h1 answr --json");
    expect(json.stderr).toBe("");
    expect(json.json()).toMatchObject({
      id: "h1",
      event: "answr",
      warning: expect.stringContaining('It waits for the event "answer".') as string,
    });
    const shown = await project.run("get h1");
    expect(shown.stdout).toMatch(/^Unread events\n {2}answr 1\n {2}answr$/m);
    const document = (await project.run("get h1 --json")).json();
    expect(document).toMatchObject({
      unread: { items: [{ name: "answr", data: 1 }, { name: "answr" }] },
    });
    const right = await project.run("raise h1 answer");
    expect(right).toMatchObject({ code: 0, stdout: "✓ answer sent to h1\n", stderr: "" });
    await handle.result();
    expect((await project.run("get h1")).stdout).toContain("Unread events"); // also after the end
    await perdure.close();
  });

  test("is sent to a blocked instance, with a warning that gives the reason of the block", async () => {
    const project = new Project();
    const foreign = orchestration("foreign", async (ctx) => {
      await new Promise(() => undefined);
      await ctx.waitFor("go");
    });
    const perdure = await Perdure.open(`sqlite:${project.file}`, {
      register: [foreign],
      runtime: { log: () => undefined },
    });
    const handle = await perdure.client.start(foreign, undefined, { id: "b" });
    await until(async () => (await handle.describe()).blocked !== undefined);
    const sent = await project.run("raise b go");
    expect(sent).toMatchObject({ code: 0, stdout: "✓ go sent to b\n" });
    expect(sent.stderr).toMatch(
      /^! b is blocked by FOREIGN_AWAIT: .+[^.]\. "go" stays unread until the instance is unblocked\. See: perdure get b\n$/,
    );
    const json = (await project.run("raise b go --json")).json();
    expect(json).toMatchObject({ warning: expect.stringContaining("FOREIGN_AWAIT") as string });
    await perdure.close({ graceMs: 0 });
  });

  test("is kept for an instance that does not exist yet, or has not run yet", async () => {
    const project = new Project();
    await project.run("migrate");
    const kept = await project.run("raise h2 answer --keep");
    const stdout = "✓ answer sent to h2; h2 will receive it when it starts\n";
    expect(kept).toMatchObject({ code: 0, stdout, stderr: "" });
    await project.run("start approved --id h3");
    expect(await project.run("raise h3 answer")).toMatchObject({ code: 0, stderr: "" });
  });
});

test("cancel, pause, resume and terminate act on one instance, and record the reason", async () => {
  const { project, perdure } = await running();
  const handle = await perdure.client.start(wait, 1, { id: "a" });
  const paused = await project.run(["pause", "a", "--reason", "lunch", "--by", "ada"]);
  expect(paused).toMatchObject({ code: 0, stdout: "✓ a paused\n" });
  const info = await handle.describe();
  expect(info).toMatchObject({ status: "paused", paused: { reason: "lunch", by: "ada" } });
  expect(await project.run("resume a --json")).toMatchObject({ code: 0 });
  expect(await handle.describe()).not.toHaveProperty("paused");
  const asked = await project.run("cancel a");
  expect(asked).toMatchObject({ code: 9, stdout: "" });
  expect(asked.stderr).toMatch(/no terminal to ask on; confirm with --yes/);
  const cancelled = await project.run("cancel a --yes --reason enough --json");
  expect(cancelled.json()).toEqual({
    action: "cancel",
    count: 1,
    done: 1,
    skipped: 0,
    refused: [],
  });
  await expect(handle.result()).rejects.toMatchObject({ message: "cancelled: enough" });
  const late = await project.run("terminate a --yes --json");
  expect(late.code).toBe(4);
  expect(late.json()).toMatchObject({ done: 0, refused: [{ id: "a", code: "INSTANCE_FINISHED" }] });
  await perdure.client.start(wait, 1, { id: "b" });
  expect(await project.run("terminate b -y")).toMatchObject({ code: 0 });
  expect(await perdure.client.get("b").describe()).toMatchObject({ status: "terminated" });
  await perdure.close();
});

test("restart and fork run an instance again, from the beginning or from the middle", async () => {
  const { project, perdure } = await running();
  const handle = await perdure.client.start(wait, 1, { id: "a" });
  expect(await project.run("restart a")).toMatchObject({ code: 4 }); // it has not ended
  await handle.raise("go", "first");
  await handle.result();
  const asked = await project.run("restart a");
  expect(asked).toMatchObject({ code: 9, stdout: "" });
  expect(asked.stderr).toContain("a runs again from the start, with new idempotency keys.");
  expect(asked.stderr).toContain("No activity, step or child has completed.");
  const done = await project.run("restart a --yes --input 5 --reason again");
  expect(done).toMatchObject({ code: 0, stdout: "✓ a restarted\n" });
  await expect
    .poll(() => handle.describe())
    .toMatchObject({ execution: 2, repairs: [{ kind: "restart", reason: "again" }] });
  await handle.raise("go", "again");
  expect(await handle.result()).toEqual({ input: 5, data: "again" });
  const fork = await project.run("fork a --before 3 --execution 1 --as copy --json");
  expect(fork.json()).toEqual({ id: "copy", source: "a", beforeSequence: 3 });
  await perdure.client.get("copy").raise("go", "second");
  expect(await perdure.client.get("copy").result()).toEqual({ input: 1, data: "second" });
  const far = await project.run("fork a --before 99");
  expect(far).toMatchObject({ code: 2 });
  expect(far.stderr).toMatch(/^error: --before must be from 2 to /);
  expect(await project.run("fork a --before 3 --as copy")).toMatchObject({ code: 4 });
  expect((await project.run("fork a")).stderr).toContain("--before");
  await perdure.close({ graceMs: 0 });
});

test("rewind goes on before a call, with values of the user, and refuses what does not fit", async () => {
  const seen: number[] = [];
  const count = activity("count", async (value: number) => {
    seen.push(value);
    return value;
  });
  const sum = orchestration("sum", async (ctx, start: number) => {
    const first = await ctx.run(count, start);
    const second = await ctx.run(count, first + 1);
    return ctx.run(count, second + 1);
  });
  const { project, perdure } = await running(sum, count);
  const handle = await perdure.client.start(sum, 1, { id: "s" });
  await handle.result();
  const env = { PERDURE_STORE: `sqlite:${project.file}`, NO_COLOR: "1" };
  for (const [line, message] of [
    ["rewind s --before 3 --before-activity count", "Pass one of the options"],
    ["rewind s --before 3 --nth 2", "--nth has a meaning only with"],
    ["rewind s --before 3 --to-failure", "not both"],
    ["rewind s --replace 2", "--replace must be sequence=json"],
    ["rewind --all --replace 2=1", "--replace has a meaning only for one instance"],
    ["rewind s", "The instance has not failed; say where to go on with --before"],
    ["rewind s --before-activity count --nth 9", "there is no call 9"],
  ] as const) {
    const { code, stderr } = await runOnTerminal(line, { cwd: project.folder, env });
    expect([line, code, stderr.includes(message) || stderr]).toEqual([line, 2, true]);
  }
  const point = "--before-activity count --nth 3 --replace 2=10 --by ada";
  const plan = (await project.run(`rewind s ${point} --dry-run --json`)).json();
  expect(plan).toMatchObject({ preview: [{ kept: [{ sequence: 2 }, { sequence: 4 }] }] });
  const asked = await project.run(`rewind s ${point}`);
  expect(asked).toMatchObject({ code: 9 });
  expect(asked.stderr).toContain("Happened after that point and may happen again: activity");
  expect(await project.run(`rewind s ${point} --yes`)).toMatchObject({ stdout: "✓ s rewound\n" });
  expect(await handle.result()).toBe(3);
  expect((await handle.describe()).repairs).toMatchObject([{ by: "ada", replaced: [2] }]);
  const shown = await runOnTerminal("get s", { cwd: project.folder, env });
  expect(shown.stdout).toMatch(
    /^repaired +rewind of execution 1 before event 6, with values for #2 by ada: rewound from/m,
  );
  expect(shown.stdout).toContain("count (replaced)");
  expect(await project.run("rewind --all --dry-run")).toMatchObject({
    stdout: "Would rewind 0 instances.\n", // a filter without a status selects failed ones
  });
  await perdure.close({ graceMs: 0 });
});

describe("perdure retry", () => {
  const gate = { closed: true };
  const bill = activity("bill", async () => {
    if (gate.closed) throw new Error("closed");
    return "paid";
  });
  const billing = orchestration("billing", async (ctx) => ctx.run(bill, undefined));

  test("unblocks a blocked instance, goes on at the failed call of another, refuses any other", async () => {
    const project = new Project();
    const perdure = await Perdure.open(`sqlite:${project.file}`, {
      register: [billing, bill, foreign],
      runtime: { log: () => undefined },
    });
    const failed = await perdure.client.start(billing, undefined, { id: "failed" });
    await failed.result().catch(() => undefined);
    const blocked = await perdure.client.start(foreign, undefined, { id: "blocked" });
    await until(async () => (await blocked.describe()).blocked !== undefined);

    gate.closed = false;
    const both = await project.run("retry --all --yes --json");
    expect(both).toMatchObject({ code: 0 });
    expect(both.json()).toMatchObject({ action: "retry", count: 2, done: 2 });
    expect(await failed.result()).toBe("paid");
    expect(await failed.describe()).toMatchObject({ execution: 2 });
    await until(async () => tries >= 2); // its code ran another turn

    const nothing = await project.run("retry failed");
    expect(nothing).toMatchObject({ code: 4 });
    expect(nothing.stderr).toContain("The instance is completed and not blocked");
    expect(await project.run("unblock missing")).toMatchObject({ code: 3 });
    await perdure.close({ graceMs: 0 });
  });

  test("shows what is kept and done again, and does not repeat completed work", async () => {
    const { project, perdure, charges, truck } = await orders();
    const previewed = [
      "o1 goes on before event 7, as execution 2:",
      '  kept: step "reserve", activity "charge"',
      '  done again, with the same idempotency keys: activity "ship"',
    ];
    const plan = await project.run("retry o1 --dry-run");
    expect(plan).toMatchObject({ code: 0, stderr: "" });
    expect(plan.stdout.split("\n")).toEqual(["Would retry 1 instance:", "  o1", ...previewed, ""]);
    const json = await project.run("retry o1 --dry-run --json");
    expect(json.json()).toMatchObject({
      ...{ action: "retry", dryRun: true, count: 1, first: ["o1"] },
      preview: [{ id: "o1", dryRun: true, check: { kind: "ok" }, redone: [{ name: "ship" }] }],
    });
    const many = await project.run("retry --all --dry-run");
    expect(many.stdout).toContain("2 instances go on as their next execution:");
    expect(many.stdout).toContain('step "reserve" (2 times), activity "charge" (2 times)');
    truck.isThere = true;
    const done = await project.run("retry o1 --reason truck --by ada");
    expect(done).toMatchObject({ code: 0, stdout: "✓ o1 retried\n" });
    expect(done.stderr.split("\n")).toEqual([...previewed, ""]);
    expect(await project.run("retry o2 --yes")).toMatchObject({ code: 0, stderr: "" });
    for (const id of ["o1", "o2"]) expect(await perdure.client.get(id).result()).toBe("shipped");
    expect(charges).toHaveLength(2);
    expect((await perdure.client.get("o1").describe()).repairs).toMatchObject([
      { kind: "rewind", reason: "truck", by: "ada" },
    ]);
    await perdure.close();
  });

  test("names compensations that have run, and asks first", async () => {
    const { project, perdure } = await orders();
    const handle = await perdure.client.start("refunded", undefined, { id: "r" });
    await handle.result().catch(() => undefined);
    const asked = await project.run("retry r");
    expect(asked).toMatchObject({ code: 9, stdout: "" });
    const warning = 'Compensations that have run and are not undone: step "refund".';
    expect(asked.stderr).toContain(`${warning} Retry 1 instance? There is no terminal`);
    expect(await handle.describe()).toMatchObject({ status: "failed", execution: 1 });
    await perdure.close();
    const alone = await project.run("retry o1 --yes");
    expect(alone).toMatchObject({ code: 4 });
    expect(alone.stderr).toContain("neither this process nor a running worker registers");
  });

  /** Two orders that were charged and whose shipping failed. */
  async function orders() {
    const charges: string[] = [];
    const truck = { isThere: false };
    const charge = activity("charge", async (cents: number, { idempotencyKey }) => {
      charges.push(idempotencyKey);
      return cents;
    });
    const ship = activity("ship", async () => {
      if (!truck.isThere) throw new Error("no truck");
      return "shipped";
    });
    const order = orchestration("order", async (ctx) => {
      await ctx.step("reserve", async () => "shelf 4");
      await ctx.run(charge, 500);
      return ctx.run(ship, undefined);
    });
    const refunded = orchestration("refunded", async (ctx) => {
      ctx.compensate(() => ctx.step("refund", async () => "refunded"));
      return ctx.run(ship, undefined);
    });
    const project = new Project();
    const perdure = await Perdure.open(`sqlite:${project.file}`, {
      register: [order, refunded, charge, ship],
      runtime: { log: () => undefined },
    });
    for (const id of ["o1", "o2"]) {
      const handle = await perdure.client.start(order, undefined, { id });
      await handle.result().catch(() => undefined);
    }
    return { project, perdure, charges, truck };
  }

  let tries = 0;
  const foreign = orchestration("foreign", async () => {
    tries++;
    await new Promise(() => undefined);
  });
});
