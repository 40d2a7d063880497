// One history: clients call one store concurrently. A client makes its next call when the previous one was answered.
//   - The clock advances only between two phases, when no call is in flight, so each call has a defined time.
//   - history.1: A phase begins with one call of the same kind per client, based on the same knowledge.

import type { Call } from "../model/calls.ts";
import { chanceOf } from "../../faults/kill/chance.ts";
import type { Operation } from "./checker.ts";
import type { Client } from "./client.ts";
import { Knowledge } from "./knowledge.ts";
import {
  CALL_KINDS,
  drawKind,
  idsOf,
  nextCall,
  PAUSE_MS,
  register,
  start,
  type CallKind,
  type Scene,
} from "./next-call.ts";

export const STARTS_AT = Date.UTC(2026, 0, 1);
const PHASES = 3;
/** The maximum number of further calls per client and phase. */
const CALLS_MAX = 2;

export interface Made extends Operation<Call, unknown> {
  readonly client: number;
  readonly began: number;
  readonly ended: number;
}

export async function makeHistory(
  clients: readonly Client[],
  { seed, kinds = CALL_KINDS }: { readonly seed: number; readonly kinds?: readonly CallKind[] },
): Promise<readonly Made[]> {
  const made: Made[] = [];
  const known = new Knowledge();
  let drawn = seed * 1_000;
  const suffix = `-${seed}`;
  const scene: Scene = { chance: chanceOf(seed), kinds, known, suffix, fresh: () => (drawn += 1) };
  let now = STARTS_AT;
  let moment = 0;
  const tick = (): number => (moment += 1);

  const make = async (client: number, call: Call): Promise<void> => {
    const calledAt = tick();
    const { answer, began, ended } = await (clients[client] as Client).call(call, now);
    made.push({ client, input: call, output: answer, calledAt, answeredAt: tick(), began, ended });
    known.learn(call, answer);
  };

  await Promise.all(clients.map((_, client) => make(client, register(scene, client))));
  // Creates an instance that the first calls compete for.
  if (scene.chance.happens(0.9)) await make(0, start(scene, 0, idsOf(scene)[0]));
  if (scene.chance.happens(0.7)) await make(0, nextCall(scene, 0, "turn"));
  for (let phase = 1; phase <= PHASES; phase += 1) {
    const kind = drawKind(scene); // history.1
    await Promise.all(
      clients.map(async (_, client) => {
        await make(client, nextCall(scene, client, kind));
        const calls = scene.chance.between(0, CALLS_MAX);
        for (let call = 0; call < calls; call += 1) await make(client, nextCall(scene, client));
      }),
    );
    const [calledAt, answeredAt] = [tick(), tick()];
    const advance = { method: "advance", ms: PAUSE_MS } as const;
    made.push({
      ...{ client: -1, input: advance, output: null, calledAt, answeredAt, began: 0, ended: 0 },
    });
    now += PAUSE_MS;
  }
  // These reads must see everything that was acknowledged.
  const list = { method: "listInstances", name: `order${suffix}` } as const;
  await Promise.all(clients.map((_, client) => make(client, list)));
  return made;
}

/** The number of calls that overlapped with a call of another client. */
export function overlapping(history: readonly Made[]): number {
  return history.filter(({ client, began, ended }) =>
    history.some((other) => other.client !== client && other.began < ended && began < other.ended),
  ).length;
}

/** The longest order that explains the answers, and the calls that do not fit. */
export function formatOrder(
  history: readonly Operation<unknown, unknown>[],
  order: readonly Operation<unknown, unknown>[],
): string {
  const line = ({ calledAt, answeredAt, input, output }: Operation<unknown, unknown>): string =>
    `[${calledAt}-${answeredAt}] ${JSON.stringify(input)} -> ${JSON.stringify(output)}`;
  const rest = history.filter((step) => !order.includes(step));
  return [...order.map(line), "-- not explained:", ...rest.map(line)].join("\n");
}
