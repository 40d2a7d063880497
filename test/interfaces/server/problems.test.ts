// How refusals look, what they do not reveal, and what the audit records (S34, S35).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERROR_CODES, PerdureError } from "../../../src/index.ts";
import {
  auditToFile,
  HTTP_CODES,
  perdureServer,
  type AuditEntry,
} from "../../../src/server/index.ts";
import { problemOf, Refusal, STATUS_OF_CODE } from "../../../src/server/http/problems.ts";
import { ROUTES } from "../../../src/server/routes/index.ts";
import { codeOf, openPerdure, openScene, temporaryFolder, untilWaiting } from "./support.ts";

test("every code has one status, and the docs page shows it", () => {
  expect(Object.keys(STATUS_OF_CODE)).toEqual(Object.keys(ERROR_CODES));
  const page = readFileSync("docs/http-api.md", "utf8");
  for (const [code, status] of Object.entries(STATUS_OF_CODE)) {
    expect(page).toMatch(new RegExp(`\\| \`${code}\` +\\| ${status} +\\|`));
  }
  for (const [code, [status]] of Object.entries(HTTP_CODES)) {
    expect(page).toMatch(new RegExp(`\\| \`${code}\` +\\| ${status} +\\|`));
  }
});

test("a refusal is a problem document with Perdure's code", async () => {
  const { call } = await openScene();
  const response = await call("viewer", "GET", "/instances/none");
  expect(response.status).toBe(404);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(await response.json()).toEqual({
    type: "urn:perdure:problem:INSTANCE_NOT_FOUND",
    title: ERROR_CODES.INSTANCE_NOT_FOUND,
    status: 404,
    code: "INSTANCE_NOT_FOUND",
    detail: 'There is no instance "none".',
  });
});

test("refusals of the client have their codes", async () => {
  const { call, perdure } = await openScene();
  const { client } = perdure;
  await (await client.start("echo", 1, { id: "done" })).result();
  await client.start("worker", 1, { id: "live" });
  const cases: [string, string, unknown, number, string][] = [
    ["POST", "/instances", { name: "echo", id: "done" }, 409, "INSTANCE_EXISTS"],
    [
      "POST",
      "/instances",
      { name: "e", id: "live", onConflict: "restart" },
      409,
      "INSTANCE_RUNNING",
    ],
    ["POST", "/instances", { name: "echo", id: "a::b" }, 400, "INVALID_ARGUMENT"],
    ["POST", "/instances", { name: "perdure.x" }, 400, "INVALID_ARGUMENT"],
    ["POST", "/instances", { name: "x", delay: "soon" }, 400, "INVALID_ARGUMENT"],
    [
      "POST",
      "/instances",
      { name: "x", delay: 1, at: "2026-01-01T00:00:00Z" },
      400,
      "INVALID_ARGUMENT",
    ],
    ["POST", "/instances", { name: "x", priority: 6 }, 400, "INVALID_ARGUMENT"],
    ["POST", "/instances", { name: "x", attributes: { a: [1] } }, 400, "INVALID_ARGUMENT"],
    [
      "POST",
      "/instances",
      { name: "x", input: { $perdure: ["~nonsense"] } },
      400,
      "INVALID_ARGUMENT",
    ],
    [
      "POST",
      "/instances",
      { name: "x", input: { $perdureCut: { chars: 1 } } },
      400,
      "INVALID_ARGUMENT",
    ],
    ["POST", "/instances/done/cancel", {}, 409, "INSTANCE_FINISHED"],
    ["POST", "/instances/live/restart", {}, 409, "INSTANCE_RUNNING"],
    ["POST", "/instances/none/events", { name: "x" }, 404, "INSTANCE_NOT_FOUND"],
    ["POST", "/instances/live/fork", { beforeSequence: 999 }, 400, "INVALID_ARGUMENT"],
    ["GET", "/instances/live/result?timeout=2m", undefined, 400, "INVALID_ARGUMENT"],
    ["GET", "/instances/live/result?timeout=soon", undefined, 400, "INVALID_ARGUMENT"],
    ["GET", "/instances?limit=1&limit=2", undefined, 400, "INVALID_ARGUMENT"],
    [
      "POST",
      "/instances/live/prune",
      { completedBefore: "2026-01-01T00:00:00Z", olderThan: "1h" },
      400,
      "INVALID_ARGUMENT",
    ],
    ["PATCH", "/instances/live", undefined, 404, "ROUTE_NOT_FOUND"],
  ];
  for (const [method, path, body, status, code] of cases) {
    const response = await call("admin", method, path, body === undefined ? {} : { body });
    expect([method, path, body, response.status, await codeOf(response)]).toEqual([
      method,
      path,
      body,
      status,
      code,
    ]);
  }
  const large = { name: "worker", input: 1, id: "x".repeat(300) };
  expect((await call("admin", "POST", "/instances", { body: large })).status).toBe(400);
});

const SECRET = "SELECT * FROM instances at /home/user/store.db postgres://u:hunter2@db";

test("S34: an internal error shows only its code; the log has the details", async () => {
  const errors = [
    new Error(SECRET),
    new TypeError(SECRET, { cause: new Error(SECRET) }),
    new PerdureError("STORE_INVALID", SECRET),
    new PerdureError("HISTORY_CORRUPT", SECRET),
    SECRET,
  ];
  for (const error of errors) {
    const { client, provider } = await openPerdure();
    const lines: string[] = [];
    await using server = perdureServer(client, {
      authenticate: () => ({ name: "ada", role: "admin" }),
      limits: { sampleMs: 0 },
      log: (_level, message) => void lines.push(message),
    });
    provider.countInstances = () => Promise.reject(error as Error);
    const response = await server.request("/api/v1/count");
    expect(response.status).toBeGreaterThanOrEqual(500);
    const text = (await response.text()) + JSON.stringify([...response.headers]);
    expect(text).not.toMatch(/SELECT|hunter2|\/home|\.ts:\d|at \w+ \(/);
    if (response.status === 500) expect(lines.join()).toContain("request failed");
  }
});

test("S34: a generated problem document never shows a foreign error message", () => {
  expect(problemOf(new Error(SECRET)).detail).toBe(HTTP_CODES.INTERNAL[1]);
  expect(problemOf({ code: "INVALID_ARGUMENT", message: SECRET }).code).toBe("INTERNAL");
  expect(problemOf(undefined).status).toBe(500);
  expect(problemOf(new Refusal("FORBIDDEN", "why")).detail).toBe("why");
});

test("S35: every change by an authenticated caller is one line in the audit, refused changes included", async () => {
  const file = join(temporaryFolder(), "audit.jsonl");
  const scene = await openScene({ audit: auditToFile(file), limits: { burst: 1_000 } });
  await scene.perdure.client.start("worker", 1, { id: "w" });
  await untilWaiting(scene.perdure, "w");
  const changing = ROUTES.filter(({ changes }) => changes);
  let calls = 0;
  for (const route of changing) {
    const path = route.path.replace(":id", "w");
    for (const role of ["viewer", "operator"] as const) {
      const body = route.operation === "askInstance" ? { timeoutMs: 0 } : {};
      await scene.call(role, route.method, path, route.body === null ? {} : { body });
      calls += 1;
    }
    await scene.call(null, route.method, path); // unauthenticated: refused, and not in the audit
  }
  await scene.call("operator", "GET", "/instances");
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as AuditEntry);
  expect(entries).toHaveLength(calls);
  expect(new Set(entries.map(({ operation }) => operation)).size).toBe(changing.length);
  for (const entry of entries) {
    expect(entry).toMatchObject({
      actor: entry.role === "viewer" ? "vera" : "otto",
      from: "127.0.0.1",
      path: expect.stringMatching(/^\/api\/v1\//) as string,
    });
    expect(Number.isNaN(Date.parse(entry.at))).toBe(false);
    if (entry.role === "viewer") expect(entry).toMatchObject({ status: 403, code: "FORBIDDEN" });
  }
  const cancelled = entries.find((e) => e.operation === "cancelInstance" && e.role === "operator");
  expect(cancelled).toMatchObject({ instance: "w", status: 204, method: "POST" });
});

test("S35: the audit names the instance that a start created, and the key of the request", async () => {
  const { call, audit } = await openScene();
  const init = { body: { name: "echo" }, headers: { "Idempotency-Key": "k" } };
  const { id } = (await (await call("operator", "POST", "/instances", init)).json()) as {
    id: string;
  };
  await call("operator", "POST", "/instances", init);
  expect(audit).toMatchObject([
    { operation: "startInstance", instance: id, requestId: "k", status: 201 },
    { operation: "startInstance", instance: id, requestId: "k", status: 201, replayed: true },
  ]);
});

test("S35: the audit of a bulk operation has its filter, the ids and their number", async () => {
  const { call, audit, perdure } = await openScene();
  const ids = ["a", "b", "c"];
  for (const id of ids) await perdure.client.start("unregistered", undefined, { id });
  const filter = { name: "unregistered" };
  const bulk = (action: string, body: object): Promise<Response> =>
    call("admin", "POST", `/bulk/${action}`, { body: { filter, ...body } });
  await bulk("pause", { dryRun: true });
  await bulk("pause", { limit: 2 });
  await bulk("terminate", {});
  await bulk("delete", { limit: 2 });
  await bulk("delete", { nonsense: 1 });
  expect(audit).toMatchObject([
    { operation: "bulkPause", filter, count: 0, dryRun: true },
    { operation: "bulkPause", filter, instances: ["a", "b"], count: 2 },
    { operation: "bulkTerminate", filter, instances: ids, count: 3 },
    { operation: "bulkDelete", filter, instances: ["a", "b"], count: 2 },
    { operation: "bulkDelete", status: 400 },
  ]);
  expect(await perdure.client.get("c").exists()).toBe(true);
  expect(audit[0]).not.toHaveProperty("instances");
});

test("S35: a failed audit write is logged, and the answer stands", async () => {
  const { call, log, perdure } = await openScene({
    audit: () => Promise.reject(new Error("disk full")),
  });
  const response = await call("operator", "POST", "/instances", {
    body: { name: "echo", id: "e" },
  });
  expect(response.status).toBe(201);
  expect(await perdure.client.get("e").exists()).toBe(true);
  expect(log).toMatchObject([{ level: "error", message: "writing an audit entry failed" }]);
});

test("S35: no route reads or changes the audit", () => {
  expect(ROUTES.filter(({ path, operation }) => /audit/i.test(path + operation))).toEqual([]);
});
