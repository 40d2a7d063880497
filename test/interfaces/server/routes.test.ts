// The required role of every route in the router (S3, S4, S5, S9).

import { rmSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { Client, Runtime } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { perdureServer, ROLES, type Role } from "../../../src/server/index.ts";
import { ROUTES } from "../../../src/server/routes/index.ts";
import type { Route } from "../../../src/server/http/route.ts";
import { codeOf, openScene, temporaryFolder, untilWaiting } from "./support.ts";

const OPEN = ["GET /healthz", "GET /readyz", "GET /*", "ALL /*"];
const EXTRA = ["GET /metrics", "ALL /api/v1/*"];

/** A body that each route accepts, so that only the caller's role decides. */
const BODIES: Readonly<Record<string, unknown>> = {
  askInstance: { timeoutMs: 0 },
  startInstance: { name: "worker", input: 1 },
  raiseEvent: { name: "go", data: "x" },
  forkInstance: { beforeSequence: 2 },
  bulkRaise: { filter: { all: true }, name: "go" },
  rewindInstance: { to: "failure" },
  bulkRewind: { filter: { all: true }, to: "failure" },
};

function bodyOf({ operation, body }: Route): { body?: unknown } {
  if (body === null) return {};
  return {
    body: BODIES[operation] ?? (operation.startsWith("bulk") ? { filter: { all: true } } : {}),
  };
}

function addressOf({ path }: Route): string {
  return path
    .replace(":id", "w")
    .replace(":sequence", "1")
    .replace(":key", "doubled")
    .replace(":node", "n");
}

test("the router has the routes of the table, the extra routes listed here, and no others", async () => {
  const { listening } = await openScene();
  const held = new Set(listening.server.routes.map(({ method, path }) => `${method} ${path}`));
  const table = ROUTES.map(({ method, path }) => `${method} /api/v1${path}`);
  expect([...held].toSorted()).toEqual([...table, ...EXTRA, ...OPEN].toSorted());
});

test("S3: without credentials every route is 401, except the health checks and the page", async () => {
  const { listening, perdure } = await openScene({ limits: { burst: 1_000 } });
  const seen: string[] = [];
  for (const { method, path } of listening.server.routes) {
    if (OPEN.includes(`${method} ${path}`)) continue;
    const address = path.replace(/:\w+/g, "w").replace("*", "unknown");
    const methods = method === "ALL" ? ["GET", "POST", "PUT", "PATCH", "DELETE"] : [method];
    for (const one of methods) {
      const response = await fetch(listening.url + address, { method: one });
      expect([one, address, response.status]).toEqual([one, address, 401]);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await codeOf(response)).toBe("UNAUTHENTICATED");
      seen.push(`${one} ${address}`);
    }
  }
  expect(seen.length).toBeGreaterThan(ROUTES.length);
  expect(await perdure.client.count()).toBe(0);
  for (const path of ["/healthz", "/readyz"]) {
    const health = await fetch(listening.url + path);
    expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
  }
});

test("/readyz is 503 while the runtime does not take work and after the server was closed; /healthz stays 200", async () => {
  const { provider, client, runtime } = await openScene().then(({ perdure }) => perdure);
  const own = new Runtime(provider, { register: [], log: () => undefined });
  const server = perdureServer(client, {
    ui: false,
    ready: () => own.isReady,
    log: () => undefined,
  });
  const statuses = async () => [
    (await server.request("/healthz")).status,
    (await server.request("/readyz")).status,
  ];
  expect(await statuses()).toEqual([200, 503]);
  await own.start();
  expect(await statuses()).toEqual([200, 200]);
  await own.shutdown({ graceMs: 0 });
  expect(await statuses()).toEqual([200, 503]);
  const other = perdureServer(client, { ui: false, ready: () => runtime.isReady });
  expect((await other.request("/readyz")).status).toBe(200);
  await other.close();
  const closed = await other.request("/readyz");
  expect([closed.status, await closed.json()]).toEqual([503, { status: "unavailable" }]);
});

test("/readyz is 503 while the store does not answer, reveals no reason, and logs it once", async () => {
  const folder = temporaryFolder();
  const log: string[] = [];
  const store = await SqliteProvider.open(join(folder, "store.db"));
  const client = new Client(store);
  const server = perdureServer(client, {
    ui: false,
    limits: { sampleMs: 0 },
    log: (_level, message, fields) => void log.push(`${message} ${inspect(fields)}`),
  });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  expect((await server.request("/readyz")).status).toBe(200);
  rmSync(join(folder, "store.db"));
  await vi.waitUntil(async () => (await server.request("/readyz")).status === 503, {
    timeout: 30_000,
    interval: 50,
  });
  const answer = await server.request("/readyz");
  expect(await answer.text()).toBe('{"status":"unavailable"}');
  expect(log).toEqual([expect.stringMatching(/not ready.*STORE_UNAVAILABLE/s)]);
});

interface Cell {
  readonly title: string;
  readonly role: Role;
  readonly route: Route;
  readonly may: boolean;
}
const CELLS = ROUTES.flatMap((route) =>
  ROLES.map((role): Cell => {
    const may = ROLES.indexOf(role) >= ROLES.indexOf(route.role);
    return { title: `${role} ${route.method} ${route.path}`, role, route, may };
  }),
);

test("S4: every forbidden combination of role and route is 403, and changes nothing", async () => {
  const scene = await openScene({ limits: { burst: 10_000 } });
  await scene.as("operator").start("worker", 1, { id: "w" });
  await untilWaiting(scene.perdure, "w");
  const before = await scene.perdure.client.list();
  const refused = CELLS.filter(({ may }) => !may);
  for (const { title, role, route } of refused) {
    const response = await scene.call(role, route.method, addressOf(route), bodyOf(route));
    expect([title, response.status]).toEqual([title, 403]);
    expect(await codeOf(response)).toBe("FORBIDDEN");
  }
  expect(refused.length).toBeGreaterThan(20);
  expect(await scene.perdure.client.list()).toEqual(before);
});

test("S4: every other combination is allowed", async () => {
  const scene = await openScene({ limits: { burst: 10_000 } });
  await scene.as("operator").start("worker", 1, { id: "w" });
  await untilWaiting(scene.perdure, "w");
  for (const { title, role, route } of CELLS.filter(({ may }) => may)) {
    const ended = new AbortController();
    const init = { ...bodyOf(route), signal: ended.signal };
    const { status } = await scene.call(role, route.method, addressOf(route), init);
    ended.abort();
    // 504: the instance does not answer requests.
    const isRefused = status === 401 || status === 403 || (status >= 500 && status !== 504);
    expect([title, isRefused]).toEqual([title, false]);
  }
});

test("S5: a read-only server refuses every change for every role, and answers everything else", async () => {
  const scene = await openScene({ readOnly: true, limits: { burst: 1_000 } });
  await scene.perdure.client.start("worker", 1, { id: "w" });
  await untilWaiting(scene.perdure, "w");
  const before = await scene.perdure.client.list();
  for (const route of ROUTES.filter(({ changes }) => changes)) {
    const response = await scene.call("admin", route.method, addressOf(route), bodyOf(route));
    expect([route.operation, response.status]).toEqual([route.operation, 403]);
    expect(await codeOf(response)).toBe("READ_ONLY");
  }
  expect(await scene.perdure.client.list()).toEqual(before);
  expect((await scene.call("viewer", "GET", "/instances/w")).status).toBe(200);
  expect(await scene.as("viewer").session()).toMatchObject({ readOnly: true });
});

test("a route that changes something is not a GET, and every other route is", () => {
  const wrong = ROUTES.filter(({ method, changes, tag }) =>
    changes ? method === "GET" : method !== "GET" && tag !== "session",
  );
  expect(wrong).toEqual([]);
});

test("S9: a bulk operation needs the role of the single operation, and does nothing when refused", async () => {
  const { as, perdure, call } = await openScene();
  await as("operator").start("echo", 1, { id: "e" });
  await perdure.client.get("e").result();
  const body = { filter: { ids: ["e"] } };
  expect((await call("operator", "POST", "/bulk/delete", { body })).status).toBe(403);
  expect((await call("viewer", "POST", "/bulk/restart", { body })).status).toBe(403);
  expect(await perdure.client.get("e").describe()).toMatchObject({ execution: 1 });
  expect((await call("admin", "POST", "/bulk/delete", { body })).status).toBe(200);
});

test("S9: an instance in the body does not replace the one in the path", async () => {
  const { as, perdure, call } = await openScene();
  for (const id of ["a", "b"]) await as("operator").start("worker", 1, { id });
  for (const path of ["cancel", "terminate", "pause", "resume", "unblock", "restart"]) {
    // A repair names its caller beside the person in the request (repairs.1).
    const by = path === "restart" ? [] : [{ by: "another caller" }];
    for (const extra of [{ id: "b" }, { instanceId: "b" }, ...by]) {
      const response = await call("operator", "POST", `/instances/a/${path}`, { body: extra });
      expect([path, response.status]).toEqual([path, 400]);
    }
  }
  expect((await perdure.client.get("b").describe()).status).toBe("running");
});
