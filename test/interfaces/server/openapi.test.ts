// The OpenAPI document is accurate: it has every route, its references resolve, and real answers match it.

import { expect, test, vi } from "vitest";
import { flow } from "../../../src/flow/index.ts";
import { activity, orchestration, request } from "../../../src/index.ts";
import { documentOf } from "../../../src/server/api/openapi.ts";
import { ROUTES } from "../../../src/server/routes/index.ts";
import { readEvents } from "../../../src/server/client/event-reader.ts";
import { schemaProblems, type Components, type JsonSchemaNode } from "./inputs/json-schema.ts";
import { double, openScene, untilWaiting, type Scene } from "./support.ts";

interface Media {
  readonly schema: JsonSchemaNode;
}
interface Operation {
  readonly operationId: string;
  readonly "x-perdure-role": string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, Media>> }>
  >;
}
interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Components };
}

const document = JSON.parse(JSON.stringify(documentOf(ROUTES, "1.2.3"))) as Document;
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

test("the document is served, and matches the one generated from the routes", async () => {
  const { call } = await openScene();
  const served = (await (await call("viewer", "GET", "/openapi.json")).json()) as Document;
  expect(served.openapi).toBe("3.1.0");
  expect({ ...served, info: document.info }).toEqual(document);
});

test("every route is in the document, with its parameters, its body and its role", () => {
  for (const route of ROUTES) {
    const path = `/api/v1${route.path.replace(/:(\w+)/g, "{$1}")}`;
    const operation = document.paths[path]?.[route.method.toLowerCase()];
    expect(operation).toMatchObject({
      operationId: route.operation,
      "x-perdure-role": route.role,
    });
    const inPath = operation?.parameters?.filter((parameter) => parameter.in === "path") ?? [];
    expect(inPath.map(({ name }) => name)).toEqual(route.path.match(/(?<=:)\w+/g) ?? []);
    const inQuery = operation?.parameters?.filter((parameter) => parameter.in === "query") ?? [];
    expect(inQuery.map(({ name }) => name)).toEqual(Object.keys(route.query?.entries ?? {}));
    expect(operation?.requestBody !== undefined).toBe(route.body !== null);
    const withKey = operation?.parameters?.some(({ name }) => name === "Idempotency-Key") ?? false;
    expect(withKey).toBe(route.changes);
    expect(operation?.responses[route.answer.status]).toBeDefined();
    expect(operation?.responses["401"]?.content).toHaveProperty("application/problem+json");
  }
  expect(operations).toHaveLength(ROUTES.length);
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(ROUTES.length);
});

test("references lead to components, and all components are used and named", () => {
  const used = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to),
  );
  const there = Object.keys(document.components.schemas).map(
    (name) => `#/components/schemas/${name}`,
  );
  expect([...used].toSorted()).toEqual(there.toSorted());
  expect(there.filter((name) => !/\/[A-Z]\w+$/.test(name))).toEqual([]);
});

/** The tokens of `later`, by the id of their instance. */
const tokens = new Map<string, string>();
const later = activity("later", async (_none: undefined, { completeLater, info }) => {
  tokens.set(info.instanceId, completeLater().token);
});
const outside = orchestration("outside", (ctx) => ctx.run(later, undefined));

async function callback(scene: Scene, operation: string, id: string): Promise<Response> {
  await scene.perdure.client.start(outside, undefined, { id });
  const token = await vi.waitUntil(() => tokens.get(id), { timeout: 30_000, interval: 5 });
  return scene.call("operator", "POST", `/callbacks/${operation}`, { body: { token } });
}

/** A real answer of each route, from a store in which every member of an answer occurs. */
const ANSWERS: Readonly<Record<string, (scene: Scene) => Promise<Response>>> = {
  startInstance: (s) =>
    s.call("admin", "POST", "/instances", { body: { name: "echo", id: "new" } }),
  listInstances: (s) => s.call("viewer", "GET", "/instances"),
  countInstances: (s) => s.call("viewer", "GET", "/count?status=running"),
  countByStatusAndName: (s) => s.call("viewer", "GET", "/counts?by=status&by=name"),
  describeInstance: (s) => s.call("viewer", "GET", "/instances/waits"),
  deleteInstance: (s) => s.call("admin", "DELETE", "/instances/done"),
  pruneInstance: (s) => s.call("admin", "POST", "/instances/rounds/prune", { body: {} }),
  raiseEvent: (s) => s.call("admin", "POST", "/instances/waits/events", { body: { name: "x" } }),
  cancelInstance: (s) => s.call("admin", "POST", "/instances/spare-1/cancel"),
  terminateInstance: (s) => s.call("admin", "POST", "/instances/spare-2/terminate"),
  pauseInstance: (s) => s.call("admin", "POST", "/instances/spare-3/pause"),
  resumeInstance: (s) => s.call("admin", "POST", "/instances/spare-3/resume"),
  unblockInstance: (s) => s.call("admin", "POST", "/instances/spare-3/unblock"),
  rewindInstance: (s) =>
    s.call("admin", "POST", "/instances/failed/rewind", { body: { to: "failure", dryRun: true } }),
  restartInstance: (s) => s.call("admin", "POST", "/instances/failed/restart"),
  forkInstance: (s) =>
    s.call("admin", "POST", "/instances/waits/fork", { body: { beforeSequence: 3, id: "fork" } }),
  readHistory: (s) => s.call("viewer", "GET", "/instances/waits/history?limit=5"),
  readHistoryEvent: (s) => s.call("viewer", "GET", "/instances/waits/history/1"),
  readTimeline: (s) => s.call("viewer", "GET", "/instances/waits/timeline"),
  listExecutions: (s) => s.call("viewer", "GET", "/instances/rounds/executions"),
  listCompletedWork: (s) => s.call("viewer", "GET", "/instances/waits/completed"),
  listUnread: (s) => s.call("viewer", "GET", "/instances/waits/unread"),
  listKeyValues: (s) => s.call("viewer", "GET", "/instances/waits/kv"),
  readTree: (s) => s.call("viewer", "GET", "/instances/parent/tree"),
  readFlow: (s) => s.call("viewer", "GET", "/instances/waits/flow"),
  describeNode: (s) => s.call("viewer", "GET", "/instances/flow/nodes/double"),
  awaitNode: (s) => s.call("viewer", "GET", "/instances/flow/nodes/double/result?timeout=5s"),
  readStatistics: (s) => s.call("viewer", "GET", "/instances/waits/stats"),
  awaitResult: (s) => s.call("viewer", "GET", "/instances/waits/result"),
  readKeyValue: (s) => s.call("viewer", "GET", "/instances/waits/kv/date"),
  askInstance: (s) =>
    s.call("admin", "POST", "/instances/waits/requests/say", { body: { input: "hello" } }),
  completeCallback: (s) => callback(s, "complete", "complete"),
  failCallback: (s) => callback(s, "fail", "fail"),
  heartbeatCallback: (s) => callback(s, "heartbeat", "heartbeat"),
  watchInstance: (s) => s.call("viewer", "GET", "/instances/waits/watch"),
  watchChanges: (s) => s.call("viewer", "GET", "/changes"),
  listStreams: (s) => s.call("viewer", "GET", "/instances/waits/streams"),
  readStream: (s) => s.call("viewer", "GET", "/instances/waits/streams/letters"),
  trimStream: (s) =>
    s.call("admin", "POST", "/instances/waits/streams/letters/trim", { body: { before: 1 } }),
  bulkCancel: (s) => bulk(s, "cancel", { reason: "x" }),
  bulkTerminate: (s) => bulk(s, "terminate", {}),
  bulkPause: (s) => bulk(s, "pause", {}),
  bulkResume: (s) => bulk(s, "resume", {}),
  bulkUnblock: (s) => bulk(s, "unblock", {}),
  bulkRewind: (s) => bulk(s, "rewind", { to: "failure" }),
  bulkRestart: (s) => bulk(s, "restart", {}),
  bulkRaise: (s) => bulk(s, "raise", { name: "x" }),
  bulkDelete: (s) => bulk(s, "delete", {}),
  bulkPrune: (s) => bulk(s, "prune", { keepLast: 1 }),
  readOverview: (s) => s.call("viewer", "GET", "/overview"),
  readMetrics: (s) => s.call("viewer", "GET", "/metrics"),
  listKept: (s) => s.call("viewer", "GET", "/kept?limit=5"),
  listQueues: (s) => s.call("viewer", "GET", "/queues"),
  readQueue: (s) => s.call("viewer", "GET", "/queues/unregistered"),
  pauseQueue: (s) => s.call("admin", "POST", "/queues/double/pause", { body: { reason: "x" } }),
  resumeQueue: (s) => s.call("admin", "POST", "/queues/double/resume"),
  retryFailed: (s) => s.call("admin", "POST", "/queues/broken/retry-failed"),
  enqueueJob: (s) =>
    s.call("admin", "POST", "/queues/double/jobs", { body: { input: 4, key: "k" } }),
  listSchedules: (s) => s.call("viewer", "GET", "/schedules"),
  readSchedule: (s) => s.call("viewer", "GET", "/schedules/nightly"),
  listLimiters: (s) => s.call("viewer", "GET", "/limiters"),
  listEntities: (s) => s.call("viewer", "GET", "/entities"),
  readEntities: (s) => s.call("viewer", "GET", "/entities/basket?prefix=a"),
  listRuntimes: (s) => s.call("viewer", "GET", "/runtimes"),
  readPrometheus: (s) => s.call("viewer", "GET", "/prometheus"),
  readSession: (s) => s.call("viewer", "GET", "/session"),
  openSession: (s) => s.call("viewer", "POST", "/session"),
  closeSession: (s) => s.call("viewer", "DELETE", "/session"),
  readDocument: (s) => s.call("viewer", "GET", "/openapi.json"),
};

function bulk(scene: Scene, action: string, more: object): Promise<Response> {
  const body = { filter: { idPrefix: "none" }, ...more };
  return scene.call("admin", "POST", `/bulk/${action}`, { body });
}

/** Waits for one item of every kind, after having completed one of every kind. */
const everything = orchestration("everything", async (ctx, input: unknown) => {
  ctx.setStatus({ at: ctx.now() });
  ctx.setAttributes({ kind: "everything" });
  ctx.kv.set("date", new Date(0));
  ctx.kv.set("gone", 1);
  ctx.kv.delete("gone");
  ctx.patched("change");
  ctx.stream("letters").write(new Date(0));
  await ctx.run(double, 1, { attempts: 2, timeout: "1m", priority: 1 });
  await ctx.step("step", () => input);
  await ctx.sleep(1);
  void ctx.startDetached("echo", 1, { id: "detached" });
  void ctx.serve(request<string, Date>("say"), async () => new Date(0));
  const asked = ctx.ask("parent", "unanswered");
  const timer = ctx.sleep("1h");
  timer.cancel();
  await timer.catch(() => undefined);
  await ctx.all([
    ctx.waitFor("never", { details: { for: "approval" } }),
    ctx.sleep("1d"),
    ctx.run("unregistered", 1, { tags: ["gpu"] }),
    ctx.call("worker", 1),
    asked,
  ]);
});

test("a real answer of every route matches the document, and contains nothing else", async () => {
  const doubling = flow<number>("doubling").then(double).build();
  const scene = await openScene({ limits: { burst: 1_000 } }, [
    everything,
    doubling,
    later,
    outside,
  ]);
  const { client } = scene.perdure;
  await client.raise("missing", "go", new Date(0), { ifMissing: "keep" });
  await client.raise("missing", "gone", 1, { ifMissing: "keep", keepFor: "1ms" });
  await client.start("parent", undefined, { id: "parent" });
  await client.start(everything, new Map([[1, new Date(0)]]), { id: "waits" });
  await (await client.start(doubling, 2, { id: "flow" })).result();
  await (await client.start("echo", new Date(0), { id: "done" })).result();
  await (await client.start("rounds", 2, { id: "rounds" })).result();
  await (
    await client.start("failing", undefined, { id: "failed" })
  )
    .result()
    .catch(() => undefined);
  for (const id of ["spare-1", "spare-2", "spare-3"]) await client.start("worker", 1, { id });
  for await (const { waitingFor } of client.get("waits").watch()) {
    if (waitingFor.length === 6 && waitingFor.every((wait) => wait.kind !== "step")) break;
  }
  await client.get("spare-3").pause({ reason: "audit", by: "ada" });
  await client.pauseQueue("unregistered", { reason: "audit", by: "ada" });
  await untilWaiting(scene.perdure, "spare-2");

  expect(Object.keys(ANSWERS).toSorted()).toEqual(
    ROUTES.map(({ operation }) => operation).toSorted(),
  );
  for (const { operationId, responses } of operations) {
    const response = await ANSWERS[operationId]!(scene);
    const declared = responses[response.status];
    expect([operationId, response.status, declared !== undefined && response.ok]).toEqual([
      operationId,
      response.status,
      true,
    ]);
    const type = response.headers.get("content-type")?.split(";")[0] ?? "none";
    const schema = declared?.content?.[type]?.schema ?? {};
    expect([operationId, type]).toEqual([
      operationId,
      Object.keys(declared?.content ?? {})[0] ?? "none",
    ]);
    expect([
      operationId,
      schemaProblems(await bodyOf(response, type), schema, document.components.schemas),
    ]).toEqual([operationId, []]);
  }
});

test("every kind of answer about an instance matches: ended, failed, paused, blocked", async () => {
  const stuck = orchestration("stuck", () => new Promise(() => undefined));
  const scene = await openScene({}, [stuck]);
  const { client } = scene.perdure;
  const blocked = await client.start(stuck, undefined, { id: "blocked" });
  for await (const info of blocked.watch()) if (info.blocked !== undefined) break;
  expect((await scene.as("viewer").overview()).troubles.groups).toMatchObject([
    { kind: "blocked", newestId: "blocked" },
  ]);
  await (await client.start("echo", { plain: true }, { id: "done" })).result();
  await (
    await client.start("failing", undefined, { id: "failed" })
  )
    .result()
    .catch(() => undefined);
  await client.start("worker", 1, { id: "paused" });
  await client.get("paused").pause({ reason: "audit", by: "ada" });
  for (const id of ["done", "failed", "paused", "blocked"]) {
    for (const [path, name] of [
      [`/instances/${id}`, "describeInstance"],
      [`/instances/${id}/result`, "awaitResult"],
      [`/instances/${id}/history`, "readHistory"],
    ] as const) {
      const body: unknown = await (await scene.call("viewer", "GET", path)).json();
      const operation = operations.find(({ operationId }) => operationId === name);
      const schema = operation?.responses["200"]?.content?.["application/json"]?.schema ?? {};
      expect([path, schemaProblems(body, schema, document.components.schemas)]).toEqual([path, []]);
    }
  }
});

test("a problem document matches its schema", async () => {
  const { call } = await openScene();
  const response = await call("viewer", "GET", "/instances/none");
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const problem: unknown = await response.json();
  const { Problem } = document.components.schemas;
  expect(schemaProblems(problem, Problem!, document.components.schemas)).toEqual([]);
});

async function bodyOf(response: Response, type: string): Promise<unknown> {
  if (type === "application/json") return response.json();
  if (type !== "text/event-stream") return response.text();
  if (response.url.endsWith("/changes"))
    return response.body?.cancel().then(() => ({ ids: [], all: true }));
  const { value } = await readEvents(response.body!).next();
  return JSON.parse(value?.data ?? "null");
}
