// The activities of callers and of a limiter.
//   - Callers communicate with a limiter by requests (entry.ts). The activities `ask`, `leave` and `admit` serve callers
//        whose execution began before there were requests (event-entry.ts).
//   - limiter.calls.1: A caller addresses its request to one run of the limiter's instance (its run id), and every other
//        run ignores the request. A caller that waits long asks again and compares run ids. Same run: the request is
//        in the mailbox or answered, so nothing is sent. Another run: the old request is lost, and the caller asks the
//        new run. So no caller is admitted twice, and no caller waits for a limiter that has ended.
//   - limiter.calls.2: A repeated attempt sends no message twice. Its request ids are of the kind that stores may forget
//        after some time (core/ids/request-ids.ts), because limiters and some of their callers run for years.
//   - limiter.calls.3: These activities retry until the store answers. The one permanent failure is an instance of
//        another orchestration under the limiter's id. A caller or a limiter that has ended is not a failure.
//   - limiter.calls.4: A caller that waits long checks the limiter's instance. An execution that does not serve requests
//        yet (event-loop.ts) gets a message to continue as new, which the caller repeats until requests are served. The
//        same activity names the orchestration of an instance that is not a limiter.

import type { Client } from "../client/client.ts";
import type { ActivityContext } from "../core/context/activity-context.ts";
import { activity, type Activity } from "../core/define/definitions.ts";
import { isPerdureError } from "../core/errors/errors.ts";
import { isTerminalStatus } from "../core/provider/index.ts";
import { NonRetryableError } from "../core/errors/retry-errors.ts";
import { generatedBefore } from "../core/ids/request-ids.ts";
import { ASK, isTicket, LEAVE, MOVE, type Admission, type Ticket } from "./messages.ts";
import type { StoredRule } from "./rule.ts";
import { EMPTY, type LimiterState } from "./state.ts";

/** No limit on attempts (limiter.calls.3). */
export const RETRY = { maxAttempts: 2_147_483_647, backoff: { base: "1s", max: "1m" } } as const;
const EXECUTIONS_KEPT = 2;

/** Histories hold these inputs, and replay compares them: members keep their names, also `gate`. */
export interface AskRequest {
  /** The limiter's instance id. */
  readonly gate: string;
  readonly token: string;
  readonly askedAt: number;
  /** The run that the caller asked before; null the first time. */
  readonly run: string | null;
}
export interface LeaveRequest {
  /** The limiter's instance id. */
  readonly gate: string;
  readonly token: string;
}
/** A key of the limiter's key-values: set to true by executions that serve requests. */
export const SERVES = "limiter.requests";

export interface CallerCalls {
  readonly ask: Activity<AskRequest, string>;
  readonly leave: Activity<LeaveRequest, void>;
  /** Whether the limiter's instance serves requests (limiter.calls.4). The input is the id of that instance. */
  readonly check: Activity<string, boolean>;
}
export interface LimiterCalls {
  readonly awake: Activity<undefined, string>;
  readonly admit: Activity<AdmitRequest, readonly string[]>;
  readonly look: Activity<readonly Ticket[], readonly string[]>;
}
export interface AdmitRequest extends Admission {
  readonly tickets: readonly Ticket[];
}

const HERE = { executor: "process" } as const;

/** The activities of the orchestrations that call `limiter.run`. */
export function callerCalls(name: string, rule: StoredRule): CallerCalls {
  const ruledBy = (client: Client) => ({ rule, sentAt: client.provider.environment.now() });
  const ask = async (request: AskRequest, context: ActivityContext): Promise<string> => {
    const { client, info } = context;
    const { instanceId: id, executionId: execution } = info;
    const [own, current] = await Promise.all([
      client.provider.readInstance(id),
      runOf(client, name, request.gate),
    ]);
    if (current === request.run) return current;
    const { token, askedAt } = request;
    const ticket: Ticket = { token, id, runId: own?.runId ?? "", execution, askedAt };
    for (let run = current; ; run = await runOf(client, name, request.gate)) {
      const requestId = `${requestIdOf(ticket)}/${run}`;
      const isSent = await isDelivered(() =>
        client.get(request.gate).raise(ASK, { ticket, run, ...ruledBy(client) }, { requestId }),
      );
      if (isSent) return run;
    }
  };
  const leave = async ({ gate, token }: LeaveRequest, { client, info }: ActivityContext) => {
    await isDelivered(() =>
      client.get(gate).raise(LEAVE, { token, id: info.instanceId, ...ruledBy(client) }),
    );
  };
  const check = async (id: string, { client }: ActivityContext): Promise<boolean> => {
    const record = await client.provider.readInstance(id);
    if (record !== null && record.name !== name) throw foreign(id, record.name);
    if (record === null || isTerminalStatus(record.status)) return false; // the caller gets INSTANCE_FINISHED
    const handle = client.get(id);
    if ((await handle.kv.get(SERVES)) === true) return true;
    await isDelivered(() => handle.raise(LEAVE, { token: MOVE, id, ...ruledBy(client) }));
    return false;
  };
  return {
    ask: activity(`${name}/ask`, ask, HERE),
    leave: activity(`${name}/leave`, leave, HERE),
    check: activity(`${name}/check`, check, HERE),
  };
}

/** The activities of the limiter. `admit` and `look` return the tokens of callers that have ended. */
export function limiterCalls(name: string): LimiterCalls {
  const awake = async (_: undefined, { client, info }: ActivityContext): Promise<string> => {
    await client.prune(info.instanceId, { keepLast: EXECUTIONS_KEPT });
    return (await client.provider.readInstance(info.instanceId))?.runId ?? "";
  };
  const admit = async ({ tickets, holds }: AdmitRequest, { client }: ActivityContext) => {
    const admission: Admission = { holds };
    return tokensWithout(tickets, async (ticket) => {
      if (!(await isRunning(client, ticket))) return false;
      const { id, token } = ticket;
      const requestId = requestIdOf(ticket);
      return isDelivered(() => client.get(id).raise(admissionOf(token), admission, { requestId }));
    });
  };
  const look = (tickets: readonly Ticket[], { client }: ActivityContext) =>
    tokensWithout(tickets, (ticket) => isRunning(client, ticket));
  return {
    awake: activity(`${name}/awake`, awake, HERE),
    admit: activity(`${name}/admit`, admit, HERE),
    look: activity(`${name}/look`, look, HERE),
  };
}

/** The name of the event that admits the caller with this token. Histories hold it, so it keeps its prefix. */
export function admissionOf(token: string): string {
  return `gate/${token}`;
}

/** limiter.calls.2 */
function requestIdOf({ token, askedAt }: Ticket): string {
  return `${generatedBefore(askedAt)}-${token}`;
}

/** The run id of the limiter's instance. Starts the instance if it does not run. */
async function runOf(client: Client, name: string, id: string): Promise<string> {
  for (;;) {
    const record = await client.provider.readInstance(id);
    if (record !== null && record.name !== name) throw foreign(id, record.name);
    if (record !== null && !isTerminalStatus(record.status)) return record.runId;
    try {
      const options = { id, onConflict: "restart" } as const;
      await client.withoutMiddleware().start(name, EMPTY satisfies LimiterState, options);
    } catch (error) {
      if (!isPerdureError(error, "INSTANCE_RUNNING")) throw error; // another caller started it first
    }
  }
}

function foreign(id: string, name: string): NonRetryableError {
  return new NonRetryableError(
    `limiter "${id}" cannot start: an instance of "${name}" already has this id; rename one of them.`,
  );
}

/** Whether the execution that this ticket belongs to still runs. */
async function isRunning(client: Client, ticket: Ticket): Promise<boolean> {
  if (!isTicket(ticket)) return false; // read from the mailbox with LENIENT checks
  const record = await client.provider.readInstance(ticket.id);
  if (record === null || isTerminalStatus(record.status)) return false;
  return record.runId === ticket.runId && record.execution === ticket.execution;
}

/** The tokens of the tickets that do not pass the check. */
async function tokensWithout(
  tickets: readonly Ticket[],
  check: (ticket: Ticket) => Promise<boolean>,
): Promise<readonly string[]> {
  const passed = await Promise.all(tickets.map(check));
  return tickets.filter((_, index) => passed[index] !== true).map(({ token }) => token);
}

/** False if the receiver has ended or does not exist. */
async function isDelivered(raise: () => Promise<void>): Promise<boolean> {
  try {
    await raise();
    return true;
  } catch (error) {
    const hasEnded =
      isPerdureError(error, "INSTANCE_FINISHED") || isPerdureError(error, "INSTANCE_NOT_FOUND");
    if (!hasEnded) throw error;
    return false;
  }
}
