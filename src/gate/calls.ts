// Calls: the activities by which callers and a gate reach each other.
//   GC1. A caller asks a certain life of the gate, which ignores what was meant for another. Whoever asks again finds
//        out whether that life goes on: if so, his question is in its mailbox or answered; if not, it is lost for sure,
//        and the next life is asked. So nobody is let in twice, and nobody waits at a gate that is no more.
//   GC2. A repeated attempt says nothing twice. Its request ids are of the kind that stores need not keep for ever
//        (core/request-ids.ts): gates, and some who pass them, live for years.
//   GC3. Nothing here fails for good, but for an id that is somebody else's: stores come back, and a caller or a gate
//        that has ended is an answer.

import type { Client } from "../client/client.ts";
import type { ActivityContext } from "../core/activity-context.ts";
import { activity, type Activity } from "../core/definitions.ts";
import { isPerdureError } from "../core/errors.ts";
import { isTerminalStatus } from "../core/provider/index.ts";
import { NonRetryableError } from "../core/retry-errors.ts";
import { madeUpBefore } from "../core/request-ids.ts";
import { ASK, isRecord, isTicket, LEAVE, type Ticket } from "./messages.ts";
import type { GateRule } from "./rule.ts";
import { EMPTY, type GateState } from "./state.ts";

/** As often as it takes (GC3). */
export const RETRY = { maxAttempts: 2_147_483_647, backoff: { base: "1s", max: "1m" } } as const;
const EXECUTIONS_KEPT = 2;

export interface AskRequest {
  /** The gate's instance. */
  readonly gate: string;
  readonly token: string;
  readonly askedAt: number;
  /** The life that was asked before; null: this is the first time. */
  readonly run: string | null;
}
export interface LeaveRequest {
  readonly gate: string;
  readonly token: string;
}
/** What a caller hears when he is let in. `holds`: he is inside, and says when he leaves. */
export interface Admission {
  readonly holds: boolean;
}

export interface CallerCalls {
  readonly ask: Activity<AskRequest, string>;
  readonly leave: Activity<LeaveRequest, void>;
}
export interface GateCalls {
  readonly awake: Activity<undefined, string>;
  readonly admit: Activity<AdmitRequest, readonly string[]>;
  readonly look: Activity<readonly Ticket[], readonly string[]>;
}
export interface AdmitRequest extends Admission {
  readonly tickets: readonly Ticket[];
}

const HERE = { executor: "process" } as const;

/** For the orchestrations that pass the gate of that name. */
export function callerCalls(name: string, rule: GateRule): CallerCalls {
  const ruledBy = (client: Client) => ({ rule, sentAt: client.provider.environment.now() });
  const ask = async (request: AskRequest, context: ActivityContext): Promise<string> => {
    const { client, info } = context;
    const { instanceId: id, executionId: execution } = info;
    const [own, life] = await Promise.all([
      client.provider.readInstance(id),
      lifeOf(client, name, request.gate),
    ]);
    if (life === request.run) return life;
    const { token, askedAt } = request;
    const ticket: Ticket = { token, id, runId: own?.runId ?? "", execution, askedAt };
    for (let run = life; ; run = await lifeOf(client, name, request.gate)) {
      const requestId = `${requestIdOf(ticket)}/${run}`;
      const isSent = await reaches(() =>
        client.get(request.gate).raise(ASK, { ticket, run, ...ruledBy(client) }, { requestId }),
      );
      if (isSent) return run;
    }
  };
  const leave = async ({ gate, token }: LeaveRequest, { client, info }: ActivityContext) => {
    await reaches(() =>
      client.get(gate).raise(LEAVE, { token, id: info.instanceId, ...ruledBy(client) }),
    );
  };
  return {
    ask: activity(`${name}/ask`, ask, HERE),
    leave: activity(`${name}/leave`, leave, HERE),
  };
}

/** For the gate itself. */
export function gateCalls(name: string): GateCalls {
  const awake = async (_: undefined, { client, info }: ActivityContext): Promise<string> => {
    await client.prune(info.instanceId, { keepLast: EXECUTIONS_KEPT });
    return (await client.provider.readInstance(info.instanceId))?.runId ?? "";
  };
  const admit = async ({ tickets, holds }: AdmitRequest, { client }: ActivityContext) => {
    const admission: Admission = { holds };
    return goneOf(tickets, async (ticket) => {
      if (!(await isThere(client, ticket))) return false;
      const { id, token } = ticket;
      const requestId = requestIdOf(ticket);
      return reaches(() => client.get(id).raise(admissionOf(token), admission, { requestId }));
    });
  };
  const look = (tickets: readonly Ticket[], { client }: ActivityContext) =>
    goneOf(tickets, (ticket) => isThere(client, ticket));
  return {
    awake: activity(`${name}/awake`, awake, HERE),
    admit: activity(`${name}/admit`, admit, HERE),
    look: activity(`${name}/look`, look, HERE),
  };
}

/** Whether what came is what a gate sends. */
export function isAdmission(value: unknown): value is Admission {
  return isRecord(value) && typeof value["holds"] === "boolean";
}

/** The name of the event by which the caller of that token hears that he is let in. */
export function admissionOf(token: string): string {
  return `gate/${token}`;
}

/** GC2 */
function requestIdOf({ token, askedAt }: Ticket): string {
  return `${madeUpBefore(askedAt)}-${token}`;
}

/** Which life of the gate goes on now; one begins if none does. */
async function lifeOf(client: Client, name: string, id: string): Promise<string> {
  for (;;) {
    const record = await client.provider.readInstance(id);
    if (record !== null && record.name !== name) {
      throw new NonRetryableError(
        `Gate "${id}" cannot begin: an instance of ${record.name} has its id.`,
      );
    }
    if (record !== null && !isTerminalStatus(record.status)) return record.runId;
    try {
      await client.start(name, EMPTY satisfies GateState, { id, onConflict: "restart" });
    } catch (error) {
      if (!isPerdureError(error, "INSTANCE_RUNNING")) throw error; // another caller was faster
    }
  }
}

/** Whether the execution goes on that this ticket is of. */
async function isThere(client: Client, ticket: Ticket): Promise<boolean> {
  if (!isTicket(ticket)) return false; // admitted by a gate that did not check its messages
  const record = await client.provider.readInstance(ticket.id);
  if (record === null || isTerminalStatus(record.status)) return false;
  return record.runId === ticket.runId && record.execution === ticket.execution;
}

async function goneOf(
  tickets: readonly Ticket[],
  isGood: (ticket: Ticket) => Promise<boolean>,
): Promise<readonly string[]> {
  const good = await Promise.all(tickets.map(isGood));
  return tickets.filter((_, index) => good[index] !== true).map(({ token }) => token);
}

/** Whether there was somebody to hear it. */
async function reaches(raise: () => Promise<void>): Promise<boolean> {
  try {
    await raise();
    return true;
  } catch (error) {
    const isOver =
      isPerdureError(error, "INSTANCE_FINISHED") || isPerdureError(error, "INSTANCE_NOT_FOUND");
    if (!isOver) throw error;
    return false;
  }
}
