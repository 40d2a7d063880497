// Every call of the library that takes options, for tests that pass invalid options.
//   The options are untyped on purpose, as in a JavaScript program or in one that reads its options from a file.

import {
  activity,
  Client,
  event,
  moveStore,
  orchestration,
  Perdure,
  planMove,
  Runtime,
  threads,
  type Handle,
  type OrchestrationContext,
} from "../../../src/index.ts";
import { flow, runFlow } from "../../../src/flow/index.ts";
import { encryptingCodec } from "../../../src/encryption/index.ts";
import { openTelemetry } from "../../../src/telemetry/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { HttpClient, perdureServer, serve } from "../../../src/server/index.ts";
import { limiter } from "../../../src/limiter/index.ts";
import { schedule } from "../../../src/schedule/index.ts";
import { stream } from "../../../src/stream/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import {
  crashEverywhere,
  failEveryCall,
  replayHistories,
  stressProvider,
  TestEnvironment,
  VirtualEnvironment,
} from "../../../src/testing/index.ts";
import { simulate } from "../../../src/testing/simulation/index.ts";

type Wrong = never;
export interface Given {
  readonly client: Client;
  readonly handle: Handle;
}

export const echo = activity("echo", (value: number) => value);
export const child = orchestration("child", async (_, value: number) => value);
export const go = event<number>("go");
const plain = flow<number>("plain").then("one", (value: number) => value);
const built = plain.build();

/** Definitions, which need no store. */
export const DEFINITIONS: Readonly<Record<string, (options: Wrong) => unknown>> = {
  activity: (options) => activity("a", () => 1, options),
  stream: (options) => stream("s", options),
  orchestration: (options) => orchestration("o", async () => 1, options),
  flow: (options) => flow("f", options),
  schedule: (options) => schedule("s", options),
  limiter: (options) => limiter("g", options),
  "flow.then": (options) => flow<number>("f").then(echo, options).build(),
  "flow.fork": (options) =>
    flow<number>("f")
      .fork({ a: () => plain }, options)
      .build(),
  "flow.map": (options) =>
    flow<number[]>("f")
      .map(
        "m",
        (all) => all,
        (f) => f.then(echo),
        options,
      )
      .build(),
  "flow.route": (options) =>
    flow<number>("f")
      .route("r", () => "a" as const, { a: (f) => f.then(echo) }, options)
      .build(),
  "flow.loop": (options) =>
    flow<number>("f")
      .loop("l", (f) => f.then("end", () => ({}) as never), options)
      .build(),
  "flow.waitFor": (options) => flow<number>("f").waitFor(go, options).build(),
  "flow.child": (options) => flow<number>("f").child(child, options).build(),
  "flow.compensate": (options) =>
    flow<number>("f")
      .then(echo)
      .compensate(() => undefined, options)
      .build(),
  threads: (options) => threads(options),
  encryptingCodec: (options) => encryptingCodec(options),
  openTelemetry: (options) => openTelemetry(options),
};

/** Calls that open stores, clients, servers or test tools. */
export const OPENINGS: Readonly<Record<string, (options: Wrong, given: Given) => unknown>> = {
  "SqliteProvider.open": (options) => SqliteProvider.open(":memory:", options),
  "PostgresProvider.open": (options) =>
    PostgresProvider.open("postgres://127.0.0.1:1/none", options),
  "Perdure.open": (options) => Perdure.open("sqlite::memory:", options),
  Client: (options, { client }) => new Client(client.provider, options),
  Runtime: (options, { client }) => new Runtime(client.provider, options),
  perdureServer: (options, { client }) => perdureServer(client, options),
  serve: (options, { client }) => serve(client, options),
  HttpClient: (options) => new HttpClient(options),
  moveStore: (options, { client }) => moveStore(client.provider, client.provider, options),
  planMove: (options, { client }) => planMove(client.provider, null, options),
  runFlow: (options) => runFlow(built, 1, options),
  "TestEnvironment.create": (options) => TestEnvironment.create(options),
  "TestEnvironment's faults": (options) =>
    TestEnvironment.create({ register: [], faults: options }),
  crashEverywhere: (options) => crashEverywhere(child, 1, options),
  failEveryCall: (options) => failEveryCall({} as never, options),
  replayHistories: (options) => replayHistories([], [], options),
  simulate: (options) => simulate(options),
  VirtualEnvironment: (options) => new VirtualEnvironment(options),
  stressProvider: (options) => stressProvider(options),
};

/** Calls on an open store. */
export const CALLS: Readonly<Record<string, (options: Wrong, given: Given) => unknown>> = {
  "client.start": (options, { client }) => client.start(child, 1, options),
  "client.raise": (options, { client }) => client.raise("h", "go", 1, options),
  "client.list": (options, { client }) => client.list({}, options),
  "client.list's filter": (options, { client }) => client.list(options),
  "client.count": (options, { client }) => client.count(options),
  "client.delete": (options, { client }) => client.delete("h", options),
  "client.deleteMany": (options, { client }) => client.deleteMany({ all: true }, options),
  "client.deleteMany's filter": (options, { client }) => client.deleteMany(options),
  "client.prune": (options, { client }) => client.prune("h", options),
  "client.pruneMany": (options, { client }) => client.pruneMany({ all: true }, options),
  "client.pruneMany's filter": (options, { client }) => client.pruneMany(options),
  "client.rewindMany": (options, { client }) => client.rewindMany({ all: true }, options),
  "client.rewindMany's filter": (options, { client }) =>
    client.rewindMany(options, { to: "failure" }),
  "client.restartMany": (options, { client }) => client.restartMany({ all: true }, options),
  "client.cancelMany": (options, { client }) => client.cancelMany({ all: true }, options),
  "client.pauseMany": (options, { client }) => client.pauseMany({ all: true }, options),
  "client.resumeMany": (options, { client }) => client.resumeMany({ all: true }, options),
  "client.raiseMany": (options, { client }) => client.raiseMany({ all: true }, "e", 1, options),
  "client.fork": (options, { client }) => client.fork("h", options),
  "handle.result": (options, { handle }) => handle.result(options),
  "handle.completedWork": (options, { handle }) => handle.completedWork(options),
  "handle.watch": (options, { handle }) => handle.watch(options).next(),
  "handle.stream": (options, { handle }) => handle.stream("s", options),
  "handle.trim": (options, { handle }) => handle.trim("s", options),
  "handle.raise": (options, { handle }) => handle.raise("go", 1, options),
  "handle.history": (options, { handle }) => handle.history(options),
  "handle.rewind": (options, { handle }) => handle.rewind(options),
  "handle.restart": (options, { handle }) => handle.restart(options),
  "handle.cancel": (options, { handle }) => handle.cancel(options),
  "handle.terminate": (options, { handle }) => handle.terminate(options),
  "handle.pause": (options, { handle }) => handle.pause(options),
  "handle.kv.waitFor": (options, { handle }) => handle.kv.waitFor("key", options),
  "node.result": (options, { handle }) => handle.node("one").result(options),
};

/** Calls of an orchestration. */
export const COMMANDS: Readonly<
  Record<string, (options: Wrong, ctx: OrchestrationContext<string>) => unknown>
> = {
  "ctx.run": (options, ctx) => ctx.run(echo, 1, options),
  "ctx.step": (options, ctx) => ctx.step("s", () => 1, options),
  "ctx.call": (options, ctx) => ctx.call(child, 1, options),
  "ctx.startDetached": (options, ctx) => ctx.startDetached(child, 1, options),
  "ctx.waitFor": (options, ctx) => ctx.waitFor(go, options),
  "ctx.continueAsNew": (options, ctx) => ctx.continueAsNew("", options),
  "ctx.patched": (options, ctx) => ctx.patched("change", options),
};
