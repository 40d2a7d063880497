// Checks of queued jobs after a run: every job has the result of a call that it serves (C18), with the input that its rule
// says (C30), and no rate was exceeded (C29).

import { JOB_VERSION } from "../../../core/ids/semver.ts";
import type { HistoryEvent } from "../../../core/history/events.ts";
import { defaultCodec } from "../../../core/values/codec.ts";
import type { EndedInstance, EndOfRun } from "../world/workload.ts";
import type { MadeCall, MadeCalls } from "./made-calls.ts";
import { ALWAYS, type JobInput, type QueuesPlan, type Step } from "./plan.ts";

export interface CheckFrame {
  readonly end: EndOfRun;
  /** Whether the store's clock jumped: then times by that clock say nothing about real time. */
  readonly mayJump: boolean;
}

export function checkQueues(plan: QueuesPlan, calls: MadeCalls, frame: CheckFrame): void {
  const { end } = frame;
  for (const [id, instance] of end.instances) {
    if (instance.record.version === JOB_VERSION) checkInstance(id, instance, calls, frame);
  }
  const steps = plan.clients.flatMap((client) => client.steps);
  for (const step of steps) if (step.kind === "start") checkCaller(step, end);
  if (!frame.mayJump) checkRates(plan, end);
}

function checkInstance(
  id: string,
  { record, executions }: EndedInstance,
  calls: MadeCalls,
  frame: CheckFrame,
): void {
  const { end } = frame;
  const joined = calls.all.filter(({ answer }) => answer?.id === id);
  const unknown = calls.all.filter(({ answer }) => answer === null);
  for (const [execution, events] of executions) {
    const input = inputOf(events);
    if (input === null) return end.report(`${id}#${execution} has no start`);
    const served = [...joined, ...unknown].find((call) => call.input.value === input.value);
    if (served === undefined) {
      end.report(`${id}#${execution} ran ${input.value}, but no call with it got this job`, "C30");
      continue;
    }
    if (execution === record.execution) checkLatest(id, served, joined, end);
    // A call with a request id that is repeated has the same value: the first one may have been executed.
    const first = calls.all.find((call) => call.input.value === input.value) ?? served;
    if (!frame.mayJump) checkTime(`${id}#${execution}`, first, { joined, events }, end);
  }
  checkEnd(id, record, inputOf(executions.get(record.execution) ?? []), calls, end);
}

/** C30: no later call that replaces the input has got this job. */
function checkLatest(
  id: string,
  served: MadeCall,
  joined: readonly MadeCall[],
  end: EndOfRun,
): void {
  const servedAt = served.answer?.at ?? Infinity;
  const later = joined.find((call) => call.beganAt > servedAt && replaces(call));
  if (later === undefined) return;
  end.report(`${id} ran ${served.input.value}; the latest call was ${later.input.value}`, "C30");
}

/** Whether the call gives the job that it gets its own input. */
function replaces({ rule }: MadeCall): boolean {
  if (rule?.kind === "unique") return rule.onConflict === "replace";
  return rule?.kind === "debounce" || (rule?.kind === "throttle" && rule.trailing);
}

/** C30: a delayed or debounced job did not begin too early. */
function checkTime(
  what: string,
  served: MadeCall,
  { joined, events }: { readonly joined: readonly MadeCall[]; readonly events: Events },
  end: EndOfRun,
): void {
  const [started] = events;
  if (started?.kind !== "OrchestrationStarted") return;
  const key = `${started.runId}:`;
  const runs = end.ledger.runs.filter((run) => run.key.startsWith(key));
  const beganAt = Math.min(...runs.map(({ at }) => at));
  const { rule, delayMs } = served;
  const first = Math.min(served.beganAt, ...joined.map((call) => call.beganAt));
  const dueAt =
    rule?.kind === "debounce"
      ? Math.min(served.beganAt + rule.waitMs, first + (rule.maxMs ?? Infinity))
      : served.beganAt + delayMs;
  if (beganAt < dueAt) end.report(`${what} began at ${beganAt}, before ${dueAt}`, "C30");
}

type Events = readonly HistoryEvent[];

function inputOf(events: Events): JobInput | null {
  const [started] = events;
  if (started?.kind !== "OrchestrationStarted") return null;
  return defaultCodec.decode(started.input) as JobInput; // written by a client of this workload
}

/** C18 */
function checkEnd(
  id: string,
  record: EndedInstance["record"],
  input: JobInput | null,
  { cancelled }: MadeCalls,
  { report }: EndOfRun,
): void {
  const { status, output } = record;
  if (input === null || (status === "cancelled" && cancelled.has(id))) return;
  const expected = input.fails === ALWAYS ? "failed" : "completed";
  if (status !== expected) return report(`${id} is ${status}; expected ${expected}`);
  const value = output === null ? null : defaultCodec.decode(output);
  if (status === "completed" && value !== input.value) {
    report(`${id} returned ${JSON.stringify(value)}; expected ${input.value}`);
  }
}

function checkCaller({ id, calls }: Extract<Step, { kind: "start" }>, end: EndOfRun): void {
  const record = end.instances.get(id)?.record;
  if (record === undefined) return; // its client crashed before the start
  const expected = calls.map(({ value, fails }) => (fails === ALWAYS ? "failed" : value));
  const actual = record.output === null ? null : defaultCodec.decode(record.output);
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    end.report(`${id} returned ${record.output}; expected ${JSON.stringify(expected)}`);
  }
}

/** C29 */
function checkRates({ queues }: QueuesPlan, { ledger, report }: EndOfRun): void {
  for (const { name, rule } of queues) {
    if (rule?.rate === undefined) continue;
    const { count, perMs } = rule.rate;
    const times = ledger.runs.filter((run) => run.name === name).map(({ at }) => at);
    times.sort((a, b) => a - b);
    for (const [index, at] of times.entries()) {
      const later = times[index + count];
      if (later === undefined || later - at >= perMs) continue;
      report(`${count + 1} attempts of ${name} began within ${later - at} ms from ${at}`, "C29");
    }
  }
}
