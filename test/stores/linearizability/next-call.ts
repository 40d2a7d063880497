// The next call of a client, chosen randomly from the shared knowledge.
//   - There are few ids, leases and tasks, so that calls conflict. Names are unique per history, so that many histories
//        share a store independently.
//   - next-call.1: No answer may depend on the order of equal items, which the contract leaves open. Lease requests
//        therefore take everything that is available.

import type { CommitItem, InstanceChange, TurnItem } from "../../../src/core/provider/index.ts";
import {
  cancelText,
  completedText,
  eventText,
  failedText,
  newTask,
  outcomeText,
  registration,
  sendItem,
  startedText,
  startItem,
  turnItem,
  VERSION,
} from "../../../src/testing/conformance/fixture.ts";
import type { Chance } from "../../faults/kill/chance.ts";
import type { Held } from "../model/caller.ts";
import type { Call } from "../model/calls.ts";
import type { Knowledge } from "./knowledge.ts";

/** The relative frequency of each kind. */
const WEIGHTS = {
  start: 6,
  turn: 16,
  leaseInstances: 8,
  leaseTasks: 5,
  completion: 4,
  retry: 2,
  releaseTask: 2,
  renewInstances: 3,
  renewTasks: 2,
  heartbeatTasks: 2,
  lostTasks: 2,
  stepOutcome: 2,
  send: 4,
  cancel: 2,
  terminate: 2,
  pause: 2,
  resume: 2,
  block: 2,
  unblock: 2,
  releaseInstance: 2,
  takeMessages: 2,
  removeRuntime: 1,
  registerRuntime: 1,
  expireRuntime: 1,
  deleteInstance: 3,
  readInstance: 6,
  listInstances: 3,
  readHistory: 3,
} as const;
export type CallKind = keyof typeof WEIGHTS;
export const CALL_KINDS = Object.keys(WEIGHTS) as CallKind[];

const NO_HOLD: Held = {
  ...{ key: 9_000_000, token: 1, id: "missing", runId: "", owner: "", execution: 1, lastEvent: 0 },
};
const LEASE_MS = 1_000;
/** Longer than a lease. */
export const PAUSE_MS = 1_500;

/** The context that all calls of one history share. */
export interface Scene {
  readonly chance: Chance;
  readonly known: Knowledge;
  /** The kinds of calls to choose from. */
  readonly kinds: readonly CallKind[];
  /** The suffix of every name. */
  readonly suffix: string;
  fresh(): number;
}

export const idsOf = ({ suffix }: Scene): readonly [string, string] => [`a${suffix}`, `b${suffix}`];
export const ownerOf = ({ suffix }: Scene, client: number): string => `runtime-${client}${suffix}`;

export function register(scene: Scene, client: number): Call {
  const id = ownerOf(scene, client);
  return { method: "registerRuntime", registration: registration({ id }) };
}

export function start(scene: Scene, client: number, id: string): Call {
  const { chance, suffix, fresh } = scene;
  const name = `order${suffix}`;
  const runId = `run-${fresh()}`;
  const lease = { owner: ownerOf(scene, client), token: fresh(), ...leaseMs(scene) };
  const item = startItem({
    ...{ id, runId, name, started: startedText({ runId, name }), lease: null },
    ...{ onConflict: chance.pick(["fail", "fail", "useExisting", "restart", "terminateExisting"]) },
    ...{ requestId: chance.happens(0.2) ? `request-${chance.between(1, 2)}` : null },
    ...(chance.happens(0.7) ? { lease } : {}),
    terminated: failedText("terminated", runId),
  });
  if (item.lease === null || chance.happens(0.5)) return { method: "commit", items: [item] };
  const { owner, token } = item.lease;
  const held = { key: 0, id, runId, owner, token, execution: 1, lastEvent: 0 };
  const turned = { ...turn(scene, held), consumed: [], finished: [] };
  const firstTurn = { ...turned, waitingEvents: "ready" } as const;
  return { method: "commit", items: [{ ...item, firstTurn }] };
}

export function drawKind({ chance, kinds }: Scene): CallKind {
  const drawn = kinds.flatMap((kind) => Array.from({ length: WEIGHTS[kind] }, () => kind));
  return drawn[chance.between(0, drawn.length - 1)] ?? "turn";
}

export function nextCall(scene: Scene, client: number, kind = drawKind(scene)): Call {
  const { chance, known, suffix, fresh } = scene;
  const owner = ownerOf(scene, client);
  const anyOwner = ownerOf(scene, chance.between(0, 3));
  const [first, second] = idsOf(scene);
  const id = chance.happens(0.75) ? first : second;
  const lease = { owner, token: fresh(), ...leaseMs(scene) };
  const held = hold(scene);
  const { key, token, execution } = held;
  const task = recent(scene, known.claims) ?? { key, execution, sequence: 1, token };
  const commit = (item: CommitItem): Call => ({ method: "commit", items: [item] });
  switch (kind) {
    case "start":
      return start(scene, client, id);
    case "turn":
      return commit(turn(scene, held));
    case "leaseInstances": {
      const targets = [`order${suffix}`, `order${suffix}@${VERSION}`];
      const all = { limit: 100, allowSuspect: false, messagesMax: 100 }; // next-call.1
      return { method: kind, request: { ...lease, ...all, targets } };
    }
    case "leaseTasks": {
      const all = { tags: "any", sessions: null, limit: 100, allowSuspect: false } as const; // next-call.1
      const request = { ...lease, ...all, names: [`charge${suffix}`] };
      return { method: kind, request, isKnown: false };
    }
    case "completion":
      return commit({ kind, task, outcome: outcomeText(task.sequence, `${fresh()}`) });
    case "retry":
      return commit({ kind, task, delayMs: chance.pick([0, 500]), failure: `{"n":${fresh()}}` });
    case "releaseTask":
      return commit({ kind, task });
    case "renewInstances":
      return { method: kind, holds: [{ key, token }], leaseMs: LEASE_MS };
    case "renewTasks":
      return { method: kind, claims: [task], leaseMs: LEASE_MS };
    case "heartbeatTasks":
      return { method: kind, heartbeats: [{ task, details: `"${fresh()}"` }] };
    case "lostTasks":
      return { method: kind, claims: [task] };
    case "stepOutcome":
      return commit({ kind, key, token, execution, sequence: 1, outcome: `{"n":${fresh()}}` });
    case "send": {
      const requestId = `request-${chance.between(1, 4)}`;
      const ifMissing = chance.pick<"keep" | "fail">(["keep", "fail"]);
      return commit(sendItem({ id, requestId, data: `"${fresh()}"`, ifMissing }));
    }
    case "cancel": {
      const request = cancelText(`enough ${fresh()}`);
      return commit({ kind, id, request, cancelled: failedText("cancelled", request) });
    }
    case "terminate": {
      const texts = { terminated: failedText("terminated", `${fresh()}`), childRequest: "{}" };
      return commit({ kind, id, status: "terminated", ...texts });
    }
    case "pause":
      return commit({ kind, id, info: `{"n":${fresh()}}` });
    case "resume":
    case "unblock":
      return commit({ kind, id });
    case "block":
      return commit({ kind, key, token, by: held.owner, reason: `{"n":${fresh()}}` });
    case "releaseInstance":
      return commit({ kind, key, token });
    case "takeMessages":
      return { method: kind, from: { key }, max: 100 };
    case "removeRuntime":
      return { method: kind, id: anyOwner };
    case "registerRuntime":
      return register(scene, client);
    case "expireRuntime":
      return { method: kind, request: { id: anyOwner, staleMs: chance.pick([null, 1_000]) } };
    case "deleteInstance":
      return { method: kind, id, force: chance.happens(0.3) };
    case "readInstance":
      return { method: kind, id };
    case "listInstances":
      return { method: kind, name: `order${suffix}` };
    case "readHistory":
      return { method: kind, of: { key, execution } };
  }
}

function turn(scene: Scene, held: Held): TurnItem {
  const { chance, known, suffix, fresh } = scene;
  const { key, lastEvent, owner } = held;
  const change = chance.pick<InstanceChange>([NONE, NONE, NONE, NONE, ended(), continued()]);
  const isPlain = change.kind === "none";
  const name = `charge${suffix}`;
  const lease = chance.happens(0.8) ? { owner, token: fresh(), ...leaseMs(scene) } : null;
  const messages = known.messagesOf(key);
  return turnItem(held, {
    ...{ commitId: fresh(), events: [eventText(`${fresh()}`)], change },
    version: lastEvent === 0 ? VERSION : null,
    consumed: chance.happens(0.7) ? messages : messages.slice(0, 1),
    tasks: isPlain ? [newTask({ sequence: lastEvent + 1, name, lease })] : [],
    finished: chance.happens(0.2) ? known.claims.slice(-1) : [],
    stepsOpen: isPlain && chance.happens(0.2),
    release: chance.happens(0.15),
  });
}

const NONE: InstanceChange = { kind: "none" };
const ended = (): InstanceChange => ({
  ...{ kind: "ended", status: "completed", output: completedText(), error: null },
});
const continued = (): InstanceChange => ({
  ...{ kind: "continued", started: startedText(), version: null, unread: [] },
});

/** Usually one of the newest (knowledge.1). */
function hold(scene: Scene): Held {
  return recent(scene, scene.known.holds) ?? NO_HOLD;
}

function recent<Item>({ chance }: Scene, all: readonly Item[]): Item | undefined {
  return all.at(chance.happens(0.65) ? -1 : -chance.between(1, 4));
}

function leaseMs({ chance }: Scene): { readonly leaseMs?: number } {
  return chance.happens(0.3) ? { leaseMs: LEASE_MS } : {};
}
