// A store on disk with the shop's runtime, a server with the dashboard, and clients of every role.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Perdure, type InstanceInfo } from "../../../../src/index.ts";
import {
  createToken,
  serve,
  type Listening,
  type ListenOptions,
  type Role,
} from "../../../../src/server/index.ts";
import { builtUi } from "./built-ui.ts";
import { driftAfter, driftBefore, go, SHOP } from "./shop.ts";

export interface World extends AsyncDisposable {
  readonly perdure: Perdure;
  /** The address of the store. */
  readonly store: string;
  readonly listening: Listening;
  readonly tokens: Readonly<Record<Role, string>>;
  /** The address that logs in with this role. */
  enter(role?: Role): string;
}

const QUIET = { log: () => undefined };
const STREAMED = { log: { sink: QUIET.log, stream: true } };
export const CALLBACKS = {
  secrets: ["a secret of the shop with 32 bytes or more"],
  baseUrl: "https://shop.example/callbacks",
};
const LOOK_AGAIN_MS = 10;

export async function openWorld(options: Partial<ListenOptions> = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-ui-"));
  const store = `sqlite:${join(folder, "shop.db")}`;
  await writeDrift(store);
  const perdure = await Perdure.open(store, {
    register: [...SHOP, driftAfter],
    runtime: STREAMED,
    callbacks: CALLBACKS,
  });
  const made = {
    viewer: createToken({ name: "vera", role: "viewer" }),
    operator: createToken({ name: "otto", role: "operator" }),
    admin: createToken({ name: "ada", role: "admin" }),
  };
  const listening = await serve(perdure.client, {
    port: 0,
    ui: await builtUi(),
    tokens: Object.values(made).map(({ entry }) => entry),
    limits: { sampleMs: 200, perSecond: 1_000, burst: 2_000 },
    audit: () => undefined,
    ...QUIET,
    ...options,
  });
  const tokens = {
    viewer: made.viewer.token,
    operator: made.operator.token,
    admin: made.admin.token,
  };
  return {
    perdure,
    store,
    listening,
    tokens,
    enter: (role = "admin") => `${listening.url}/#token=${tokens[role]}`,
    async [Symbol.asyncDispose]() {
      await listening.close();
      await perdure.close({ graceMs: 0 });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Writes "drift-1", an instance whose history does not match the current code. */
async function writeDrift(store: string): Promise<void> {
  await using before = await Perdure.open(store, {
    register: [...SHOP, driftBefore],
    runtime: QUIET,
  });
  const order = { id: "d", customer: "c-1", lines: ["chair"] };
  await before.client.start(driftBefore, order, { id: "drift-1" });
  await until(before, "drift-1", ({ waitingFor }) =>
    waitingFor.some(({ kind }) => kind === "event"),
  );
}

/** Wakes the drifted instance, and waits until it is blocked. */
export async function block({ perdure }: World): Promise<void> {
  await perdure.client.get("drift-1").raise(go);
  await until(perdure, "drift-1", ({ blocked }) => blocked !== undefined);
}

/** Polls the instance. A watcher would not do: the attempts of a task change without a new state to watch. */
export async function until(
  { client }: Perdure,
  id: string,
  isThere: (info: InstanceInfo) => boolean,
): Promise<void> {
  while (!isThere(await client.get(id).describe())) await pause(LOOK_AGAIN_MS);
}

export function waitsForEvent({ waitingFor }: InstanceInfo): boolean {
  return waitingFor.some(({ kind }) => kind === "event");
}
