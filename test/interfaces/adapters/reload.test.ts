// Code that is loaded again: one runtime per name and process, whose work goes on with the new code.

import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { App, type AppOptions } from "../../../src/adapters/app.ts";
import { activity, orchestration, Perdure, type Middleware } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { temporaryFolder } from "../../faults/trouble/support.ts";

const quiet = { log: () => undefined };

function app(options: Partial<AppOptions<Request>>): App<Request> {
  const store = options.store ?? "sqlite::memory:";
  const made = new App(
    { runtime: quiet, server: { ui: false }, ...options, store },
    { what: "app" },
  );
  onTestFinished(() => made.close());
  return made;
}

/** The code of the application, as one load of its module defines it. */
function code(edition: string, held: Promise<void> = Promise.resolve()) {
  const greet = activity("greet", async (name: string) => {
    await held;
    return `${edition} ${name}`;
  });
  const main = orchestration("main", async (ctx, name: string) => ctx.run(greet, name));
  return { greet, main };
}

test("a reload replaces the code: one worker at a time, and unfinished work goes on with the new code", async () => {
  const store = `sqlite:${join(temporaryFolder(), "reload.db")}`;
  const old = code("old", new Promise(() => undefined)); // its activity never ends
  const first = app({ store, register: [old] });
  const before = await first.open();
  const handle = await before.client.start(old.main, "ada", { id: "a" });
  await expect.poll(() => before.runtime.stats().activities.active).toBe(1);

  const second = app({ store, register: [code("new")] });
  const opened = Promise.all([second.open(), second.open(), first.open()]); // concurrent requests wait
  const [after, ...others] = await opened;
  expect(others).toEqual([after, after]);
  expect(before.runtime.isReady).toBe(false);
  const runtimes = await after.provider.listRuntimes();
  expect(runtimes.map(({ id }) => id)).toEqual([after.runtime.id]);
  expect(await handle.result()).toBe("new ada"); // the client of the old code still works
  expect(second.token).toBe(first.token);

  await first.close(); // the old code is disposed late: the new code stays
  expect(after.runtime.isReady).toBe(true);
});

test("loads that follow each other quickly end with the newest code", async () => {
  const loads = [1, 2, 3, 4].map((load) => {
    const one = app({ register: [code(`load ${load}`)], name: "quick" });
    one.start();
    return one;
  });
  const [opened, ...others] = await Promise.all(loads.map((one) => one.open()));
  expect(new Set([opened, ...others]).size).toBe(1);
  const handle = await opened!.client.start("main", "ada");
  expect(await handle.result()).toBe("load 4 ada");
});

test("a store that cannot be opened is tried again by the next call", async () => {
  let isDown = true;
  const open = vi.fn(async () => {
    if (isDown) throw new Error("down");
    return SqliteProvider.open(":memory:");
  });
  const made = app({ store: open, name: "down", register: [code("x")] });
  await expect(made.open()).rejects.toThrow("down");
  const answer = await made.fetch(new Request("http://localhost/perdure/readyz"));
  expect([answer.status, await answer.json()]).toMatchObject([503, { code: "STORE_UNAVAILABLE" }]);
  isDown = false;
  expect((await made.open()).runtime.isReady).toBe(true);
  expect(open).toHaveBeenCalledTimes(3);
});

test("in production several copies of the code share the first runtime, and other code is refused", async () => {
  vi.stubEnv("NODE_ENV", "production");
  onTestFinished(() => void vi.unstubAllEnvs());
  const first = app({ name: "copies", register: [code("x")] });
  const opened = await first.open();
  const copy = app({ name: "copies", register: [code("x")] });
  expect(await copy.open()).toBe(opened);
  const other = (): unknown => app({ name: "copies", register: [code("x").greet] });
  expect(other).toThrow('runs "copies" already, with other definitions');
  await copy.close();
  await opened.runtime.stopped;
});

test("creating an app opens nothing, and after a close it opens again only with new code", async () => {
  const open = vi.fn(() => SqliteProvider.open(":memory:"));
  const first = app({ store: open, name: "lazy" });
  await first.close();
  expect(open).not.toHaveBeenCalled();
  await expect(first.open()).rejects.toMatchObject({ code: "SHUTTING_DOWN" });
  expect(await app({ store: open, name: "lazy" }).open()).toBeInstanceOf(Perdure);
  expect(open).toHaveBeenCalledTimes(1);
});

test("middleware sees the context of the request, also around an event", async () => {
  const seen: unknown[] = [];
  const middleware: Middleware = {
    start: (call, next) => {
      seen.push(call.context);
      return next();
    },
    raise: async (_call, next) => {
      seen.push(made.requestContext());
      return next();
    },
  };
  const main = orchestration("main", async (ctx) => ctx.waitFor<string>("go"));
  const made = app({
    register: [main],
    middleware: [middleware],
    name: "seen",
    context: (request) => ({ tenant: new URL(request.url).pathname, locale: "de" }),
  });
  const client = await made.client();
  const run = await made.enter(new Request("http://localhost/acme"), undefined);
  const handle = await run(() => client.start(main, undefined, { context: { locale: "fr" } }));
  await run(() => handle.raise("go", "now"));
  expect(await handle.result()).toBe("now");
  expect((await handle.describe()).context).toEqual({ tenant: "/acme", locale: "fr" });
  expect(seen).toEqual([
    { tenant: "/acme", locale: "fr" },
    { tenant: "/acme", locale: "de" },
  ]);
  expect(made.requestContext()).toEqual({});
});

test("activities, steps and jobs that a request starts do not run in the context of the request", async () => {
  const contexts: unknown[] = [];
  const look = activity("look", async () => void contexts.push(made.requestContext()));
  const main = orchestration("main", async (ctx) => {
    await ctx.step("look", () => void contexts.push(made.requestContext()));
    await ctx.run(look, undefined);
  });
  const made = app({ register: [main, look], name: "look", context: () => ({ tenant: "acme" }) });
  const run = await made.enter(new Request("http://localhost/"), undefined);
  await run(async () => {
    const client = await made.client(); // the first request opens the store
    await (await client.start(main, undefined)).result();
    await (await client.enqueue(look, undefined)).result();
  });
  expect(contexts).toEqual([{}, {}, {}]);
});

test.each([
  [{ registr: [] }, 'unknown option "registr"'],
  [{ server: { token: "x" } }, 'unknown option "token"'],
  [{ store: "" }, "store must be an address"],
  [{ prefix: "perdure" }, "basePath must be a path"],
  [{ context: {} }, "context of app must be given a function"],
  [{ name: "" }, "name must be a text"],
  [{ graceMs: -1 }, "graceMs must be a whole number"],
  [{ signals: "yes" }, "signals must be true or false"],
])("wrong options are refused: %o", (options, message) => {
  const made = (): unknown => app(options as Partial<AppOptions<Request>>);
  expect(made).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(made).toThrow(message);
});
